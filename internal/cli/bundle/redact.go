package bundle

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// redacted stands in place of what was taken out.
const redacted = "REDACTED"

// secretWords make the name of a value one that is kept secret.
var secretWords = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey", "privatekey", "signingkey", "encryptionkey",
	"credential", "authorization", "cookie", "sessionid", "signature", "connectionstring", "clientcert",
}

// harmlessWords contain one of those and mean something else.
var harmlessWords = strings.NewReplacer("tokens", "", "tokenizer", "", "tokenization", "", "maxtoken", "", "tokenexpiration", "")

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

func normal(name string) string {
	return harmlessWords.Replace(separators.Replace(strings.ToLower(name)))
}

// isSecretName says whether a value of that name is to be kept secret.
func isSecretName(name string) bool {
	plain := normal(name)
	for _, word := range secretWords {
		if strings.Contains(plain, word) {
			return true
		}
	}
	return false
}

// isSecretVariable is isSecretName for variables and flags, which people name more freely.
func isSecretVariable(name string) bool {
	plain := normal(name)
	return isSecretName(name) || strings.HasSuffix(plain, "key") || strings.HasSuffix(plain, "pass") || strings.HasSuffix(plain, "auth") ||
		strings.HasSuffix(plain, "sig") || strings.HasSuffix(plain, "pat") || strings.HasSuffix(plain, "dsn")
}

// structure are the keys of Kubernetes' own whose values lead to Secrets and are none.
var structure = map[string]bool{
	"secretName": true, "secretRef": true, "secretKeyRef": true, "secret": true, "secrets": true, "imagePullSecrets": true,
	"credentialsRef": true, "credentials": true, "tokenKey": true, "serviceAccountToken": true, "automountServiceAccountToken": true,
	"nodePublishSecretRef": true,
}

// redactObject takes out of an object, in place, what may be secret, and what nobody needs.
func redactObject(content map[string]any) {
	if kind, _ := content["kind"].(string); kind == "Secret" {
		for _, field := range []string{"data", "stringData"} {
			content[field] = redactAll(content[field])
		}
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			// It repeats the whole object in one text.
			delete(annotations, corev1.LastAppliedConfigAnnotation)
		}
	}
	redactMap(content, false)
}

// redactMap redacts in place. Below a free-form field, such as parameters, no key is Kubernetes' own.
func redactMap(content map[string]any, free bool) {
	if name, ok := content["name"].(string); ok && isSecretVariable(name) {
		if _, ok := content["value"].(string); ok {
			content["value"] = redacted
		}
	}
	for key, value := range content {
		switch _, isText := value.(string); {
		case isSecretName(key) && (free || !structure[key] || (isText && key != "secretName" && key != "tokenKey")):
			content[key] = redactAll(value)
		case key == "args" || key == "command":
			content[key] = redactArguments(value)
		default:
			content[key] = redactValue(value, free || key == "parameters" || key == "annotations")
		}
	}
}

func redactValue(value any, free bool) any {
	switch v := value.(type) {
	case map[string]any:
		redactMap(v, free)
	case []any:
		for i := range v {
			v[i] = redactValue(v[i], free)
		}
	case string:
		return redactText(v)
	}
	return value
}

// redactAll replaces every text and number below a value.
func redactAll(value any) any {
	switch v := value.(type) {
	case nil, bool:
		return v
	case map[string]any:
		for key := range v {
			v[key] = redactAll(v[key])
		}
		return v
	case []any:
		for i := range v {
			v[i] = redactAll(v[i])
		}
		return v
	}
	return redacted
}

// redactArguments redacts the values of flags: --flag=value and --flag value.
func redactArguments(value any) any {
	arguments, ok := value.([]any)
	if !ok {
		return redactValue(value, true)
	}
	next := false
	for i, argument := range arguments {
		text, ok := argument.(string)
		if !ok {
			continue
		}
		name, _, hasValue := strings.Cut(text, "=")
		isFlag := strings.HasPrefix(text, "-")
		switch {
		case next && !isFlag:
			arguments[i] = redacted
		case isFlag && hasValue && isSecretVariable(name):
			arguments[i] = name + "=" + redacted
		default:
			arguments[i] = redactText(text)
		}
		next = isFlag && !hasValue && isSecretVariable(name)
	}
	return arguments
}

var (
	// shapes are secrets that can be told by how they look.
	shapes = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*(PRIVATE KEY|CERTIFICATE)[A-Z0-9 ]*-----.*?(-----END [A-Z0-9 ]*-----|$)` +
		`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?` +
		`|\b(hf_|api_org_|sk-|sk_|pk_|rk_|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|` +
		`glpat-|nvapi-|npm_|pypi-|dckr_pat_|xox[a-z]-|ya29\.)[A-Za-z0-9._-]{6,}` +
		`|\b(AKIA|ASIA)[0-9A-Z]{12,}|\bAIza[0-9A-Za-z_-]{20,}`)
	// userInfo is the part of a URL before the host.
	userInfo = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s@"']+@`)
	// scheme is what stands before credentials in a header.
	scheme = regexp.MustCompile(`(?i)\b(bearer|basic|digest|negotiate)\s+[A-Za-z0-9._~+/=-]{6,}`)
	// label is a name before a value, as in logs, headers, queries and JSON.
	label = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)\\?["']?\s*[=:]\s*(\\?["'])?`)
	// random is text that no person has written: letters of both cases and digits.
	random = regexp.MustCompile(`[A-Za-z0-9+/_-]{36,}={0,2}`)
	run    = regexp.MustCompile(`[A-Za-z0-9]{18,}`)
)

// redactText takes out of a text what looks like a secret.
func redactText(text string) string {
	text = shapes.ReplaceAllString(text, redacted)
	text = userInfo.ReplaceAllString(text, "${1}"+redacted+"@")
	text = scheme.ReplaceAllString(text, "${1} "+redacted)
	text = redactPairs(text)
	return random.ReplaceAllStringFunc(text, func(match string) string {
		if slices.ContainsFunc(run.FindAllString(match, -1), isRandom) {
			return redacted
		}
		return match
	})
}

// isRandom says whether a run of letters and digits mixes them as no name of a model does.
func isRandom(run string) bool {
	return strings.ContainsAny(run, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ContainsAny(run, "abcdefghijklmnopqrstuvwxyz") &&
		strings.ContainsAny(run, "0123456789")
}

// redactPairs replaces the values that stand behind a secret name.
func redactPairs(text string) string {
	var out strings.Builder
	for {
		found := label.FindStringSubmatchIndex(text)
		if found == nil {
			out.WriteString(text)
			return out.String()
		}
		name := text[found[2]:found[3]]
		out.WriteString(text[:found[1]])
		quote := ""
		if found[4] >= 0 {
			quote = text[found[4]:found[5]]
		}
		text = text[found[1]:]
		// In a text, only a name such as secretKeyRef is sure to be Kubernetes' own; "secret" may be anybody's.
		isReference := structure[name] && strings.ToLower(name) != name
		if !isSecretVariable(name) || isReference {
			continue
		}
		end := valueEnd(text, quote)
		if value := text[:end]; value != "" && !isWord(value) {
			out.WriteString(redacted)
			text = text[end:]
		}
	}
}

// valueEnd is where a value ends: at the quote that it began with, or else at what no value has in it.
func valueEnd(text, quote string) int {
	stop := " \t\r\n\"'\\,;&"
	if quote != "" {
		stop = quote[len(quote)-1:] + "\r\n"
	}
	if end := strings.IndexAny(text, stop); end >= 0 {
		if len(quote) == 2 && end > 0 && text[end-1] == '\\' {
			return end - 1
		}
		return end
	}
	return len(text)
}

// isWord says whether a text says something about a secret rather than what it is: "credentials: not found".
func isWord(value string) bool {
	switch strings.ToLower(value) {
	case "not", "no", "none", "missing", "true", "false", "null", "the", "is", "redacted":
		return true
	}
	return false
}
