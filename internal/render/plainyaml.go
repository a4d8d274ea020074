package render

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// errNotPlain says that a text is outside the subset of YAML that plainToJSON reads. It says nothing about the text.
var errNotPlain = errors.New("not plain YAML")

// plainToJSON turns YAML as the chart's templates write it into JSON: blocks, one entry a line, in which every value
// is JSON, a flow of plain words and JSON, a whole number or a plain word. It refuses everything about which two
// readers of YAML could disagree, and whatever is refused goes to a full reader instead. Repeated keys stay, for the
// decoder to find.
//
// It exists because a full reader takes most of the time and the memory of rendering. Tests and a fuzzer hold it to
// that reader's results.
func plainToJSON(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errNotPlain
	}
	p := plainReader{rest: text, out: make([]byte, 0, 2*len(text))}
	p.advance()
	if p.line == nil {
		return nil, errNotPlain
	}
	if err := p.block(p.indent); err != nil {
		return nil, err
	}
	if p.line != nil {
		return nil, errNotPlain
	}
	return p.out, nil
}

// plainReader reads line by line. Line is nil at the end; otherwise it begins at its first character.
type plainReader struct {
	rest   []byte
	line   []byte
	indent int
	out    []byte
}

// advance goes to the next line that is neither empty nor a comment.
func (p *plainReader) advance() {
	for len(p.rest) > 0 {
		line, rest, _ := bytes.Cut(p.rest, []byte{'\n'})
		p.rest = rest
		content := bytes.TrimLeft(line, " ")
		indent := len(line) - len(content)
		content = bytes.TrimRight(content, " ")
		if len(content) == 0 || content[0] == '#' {
			continue
		}
		p.line, p.indent = content, indent
		return
	}
	p.line, p.indent = nil, -1
}

// block reads the mapping or sequence whose entries stand at indent.
func (p *plainReader) block(indent int) error {
	if isItem(p.line) {
		return p.sequence(indent)
	}
	return p.mapping(indent)
}

func isItem(line []byte) bool { return len(line) > 1 && line[0] == '-' && line[1] == ' ' }

func (p *plainReader) sequence(indent int) error {
	p.out = append(p.out, '[')
	for first := true; p.indent == indent && isItem(p.line); first = false {
		if !first {
			p.out = append(p.out, ',')
		}
		content := p.line[2:]
		if _, _, err := cutKey(content); err == nil {
			// A mapping that begins on the line of its dash: its other entries stand below the first.
			p.line, p.indent = content, indent+2
			if err := p.mapping(p.indent); err != nil {
				return err
			}
			continue
		}
		if err := p.value(content); err != nil {
			return err
		}
		p.advance()
	}
	if p.indent > indent {
		return errNotPlain
	}
	p.out = append(p.out, ']')
	return nil
}

func (p *plainReader) mapping(indent int) error {
	p.out = append(p.out, '{')
	for first := true; p.indent == indent && !isItem(p.line); first = false {
		if !first {
			p.out = append(p.out, ',')
		}
		key, content, err := cutKey(p.line)
		if err != nil {
			return err
		}
		p.key(key)
		if len(content) > 0 {
			if err := p.value(content); err != nil {
				return err
			}
			p.advance()
			continue
		}
		p.advance()
		switch {
		case p.indent > indent, p.indent == indent && isItem(p.line):
			if err := p.block(p.indent); err != nil {
				return err
			}
		default:
			p.out = append(p.out, "null"...)
		}
	}
	if p.indent > indent {
		return errNotPlain
	}
	p.out = append(p.out, '}')
	return nil
}

// key writes a key and its colon.
func (p *plainReader) key(key []byte) {
	if key[0] == '"' {
		p.out = append(p.out, key...)
	} else {
		p.out = append(append(append(p.out, '"'), key...), '"')
	}
	p.out = append(p.out, ':')
}

// cutKey splits "key: value". The value is empty when nothing follows the colon.
func cutKey(line []byte) (key, value []byte, err error) {
	size, err := keySize(line)
	if err != nil {
		return nil, nil, err
	}
	key, rest := line[:size], line[size:]
	switch {
	case len(rest) == 1 && rest[0] == ':':
		return key, nil, nil
	case len(rest) > 2 && rest[0] == ':' && rest[1] == ' ':
		return key, bytes.TrimLeft(rest[2:], " "), nil
	}
	return nil, nil, errNotPlain
}

// keySize returns the size of the key at the start of text.
func keySize(text []byte) (int, error) {
	if len(text) > 0 && text[0] == '"' {
		return stringSize(text)
	}
	size := wordSize(text)
	if size == 0 || !isPlainWord(text[:size]) {
		return 0, errNotPlain
	}
	return size, nil
}

// value writes a value that takes up all of text.
func (p *plainReader) value(text []byte) error {
	rest, err := p.flow(text)
	if err == nil && len(rest) > 0 {
		return errNotPlain
	}
	return err
}

// flow writes the value at the start of text and returns what follows it.
func (p *plainReader) flow(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, errNotPlain
	}
	switch text[0] {
	case '"':
		size, err := stringSize(text)
		if err != nil {
			return nil, err
		}
		p.out = append(p.out, text[:size]...)
		return text[size:], nil
	case '{', '[':
		return p.collection(text)
	}
	size := wordSize(text)
	if err := p.scalar(text[:size]); err != nil {
		return nil, err
	}
	return text[size:], nil
}

// collection writes the flow mapping or sequence at the start of text and returns what follows it.
func (p *plainReader) collection(text []byte) ([]byte, error) {
	opening := text[0]
	closing := opening + 2 // '{' and '}', '[' and ']' are two apart.
	p.out = append(p.out, opening)
	text = bytes.TrimLeft(text[1:], " ")
	for first := true; len(text) > 0 && text[0] != closing; first = false {
		if !first {
			if text[0] != ',' {
				return nil, errNotPlain
			}
			p.out = append(p.out, ',')
			text = bytes.TrimLeft(text[1:], " ")
		}
		var err error
		if opening == '{' {
			if text, err = p.flowKey(text); err != nil {
				return nil, err
			}
		}
		if text, err = p.flow(text); err != nil {
			return nil, err
		}
		text = bytes.TrimLeft(text, " ")
	}
	if len(text) == 0 {
		return nil, errNotPlain
	}
	p.out = append(p.out, closing)
	return text[1:], nil
}

// flowKey writes the key at the start of text, with its colon, and returns the value behind it.
func (p *plainReader) flowKey(text []byte) ([]byte, error) {
	size, err := keySize(text)
	if err != nil {
		return nil, err
	}
	rest := text[size:]
	// A colon right behind a plain word belongs to it unless a space follows.
	if len(rest) < 2 || rest[0] != ':' || (text[0] != '"' && rest[1] != ' ') {
		return nil, errNotPlain
	}
	p.key(text[:size])
	return bytes.TrimLeft(rest[1:], " "), nil
}

// scalar writes a value without quotes.
func (p *plainReader) scalar(word []byte) error {
	switch {
	case isWhole(word), string(word) == "true", string(word) == "false", string(word) == "null":
		p.out = append(p.out, word...)
	case isPlainWord(word):
		p.out = append(append(append(p.out, '"'), word...), '"')
	default:
		return errNotPlain
	}
	return nil
}

// stringSize returns the size of the JSON string at the start of text, if YAML reads it as JSON does.
func stringSize(text []byte) (int, error) {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, nil
		case c < ' ':
			return 0, errNotPlain
		case c == '\\':
			i++
			if i == len(text) || strings.IndexByte(`"\bfnrtu`, text[i]) < 0 {
				return 0, errNotPlain
			}
			// The two read escaped halves of a character differently.
			if text[i] == 'u' && (!isHex(text[i+1:]) || text[i+1] == 'd' || text[i+1] == 'D') {
				return 0, errNotPlain
			}
		}
	}
	return 0, errNotPlain
}

func isHex(text []byte) bool {
	if len(text) < 4 {
		return false
	}
	for _, c := range text[:4] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// wordSize returns how many characters at the start of text may be part of a plain word or a whole number.
func wordSize(text []byte) int {
	for i, c := range text {
		if !isLetter(c) && !isDigit(c) && strings.IndexByte("-./_%", c) < 0 {
			return i
		}
	}
	return len(text)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWhole says whether word is a number that every reader takes for the same: decimal, and within 64 bits.
func isWhole(word []byte) bool {
	if len(word) == 0 || len(word) > 18 || (word[0] == '0' && len(word) > 1) {
		return false
	}
	for _, c := range word {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// isPlainWord says whether word is text to every reader: a word that means nothing else, a path or a percentage.
func isPlainWord(word []byte) bool {
	switch {
	case len(word) == 0:
		return false
	case word[len(word)-1] == '%':
		return isWhole(word[:len(word)-1])
	case !isLetter(word[0]) && word[0] != '/':
		return false
	case len(word) > len("false"):
		return true
	}
	switch strings.ToLower(string(word)) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return false
	}
	return true
}
