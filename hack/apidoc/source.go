package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// source is what the page needs of the Go package of the types.
type source struct {
	types     map[string]goType
	constants []constantGroup
	values    map[string]string // constants, by name
}

type goType struct {
	doc    string
	fields map[string]goRef // by the names that fields have in JSON
	order  []string         // those names, as they are written
}

// goRef says of which type something is.
type goRef struct {
	pkg  string // the import path; empty for the package itself and for the types of Go
	name string // the name of the type, or of the type of a list's items
	list bool
	raw  string // the type as it is written, for maps and the like
}

// constantGroup is a const block.
type constantGroup struct {
	doc       string
	constants []constant
}

type constant struct {
	name, value, doc string
}

// readSource reads the packages in the folders as if they were one. A constant of the same name in several has one value.
func readSource(dirs ...string) (*source, error) {
	s := &source{types: map[string]goType{}, values: map[string]string{}}
	var names []string
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("there are no Go files in %s", dir)
		}
		slices.Sort(found)
		names = append(names, found...)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "zz_generated") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the types: %w", err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("read the types: %w", err)
		}
		files = append(files, file)
	}
	for _, file := range files {
		s.addTypes(file)
	}
	// Twice, since a constant may be made of one in a later file.
	for range 2 {
		s.constants = nil
		for _, file := range files {
			s.addConstants(file)
		}
	}
	return s, nil
}

func (s *source) addTypes(file *ast.File) {
	imports := importsOf(file)
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			typeSpec := spec.(*ast.TypeSpec)
			t := goType{doc: docText(gen.Doc), fields: map[string]goRef{}}
			if structType, ok := typeSpec.Type.(*ast.StructType); ok {
				for _, field := range structType.Fields.List {
					name, ref := fieldOf(field, imports)
					t.fields[name] = ref
					t.order = append(t.order, name)
				}
			}
			s.types[typeSpec.Name.Name] = t
		}
	}
}

// fieldOf gives the JSON name of a field, or the name of an embedded type with a dot before it.
func fieldOf(field *ast.Field, imports map[string]string) (string, goRef) {
	ref := refOf(field.Type, imports)
	name := ""
	if field.Tag != nil {
		if tag, err := strconv.Unquote(field.Tag.Value); err == nil {
			name, _, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		}
	}
	if name == "" {
		name = "." + ref.name
	}
	return name, ref
}

func refOf(expr ast.Expr, imports map[string]string) goRef {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return refOf(e.X, imports)
	case *ast.ArrayType:
		ref := refOf(e.Elt, imports)
		ref.list = true
		return ref
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return goRef{pkg: imports[pkg.Name], name: e.Sel.Name}
		}
	case *ast.Ident:
		return goRef{name: e.Name}
	case *ast.MapType:
		return goRef{raw: "map of " + refOf(e.Key, imports).name + " to " + refOf(e.Value, imports).name}
	}
	return goRef{raw: "object"}
}

// field finds a field of a type, in the types that it embeds too.
func (s *source) field(typeName, jsonName string) (goRef, bool) {
	t := s.types[typeName]
	if ref, ok := t.fields[jsonName]; ok {
		return ref, true
	}
	for name, ref := range t.fields {
		if strings.HasPrefix(name, ".") && ref.pkg == "" {
			if found, ok := s.field(ref.name, jsonName); ok {
				return found, true
			}
		}
	}
	return goRef{}, false
}

// order lists the fields of a type as they are written, those of embedded types in their place.
func (s *source) order(typeName string) []string {
	var names []string
	for _, name := range s.types[typeName].order {
		if embedded, ok := strings.CutPrefix(name, "."); ok {
			names = append(names, s.order(embedded)...)
			continue
		}
		names = append(names, name)
	}
	return names
}

func (s *source) addConstants(file *ast.File) {
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		group := constantGroup{doc: docText(gen.Doc)}
		if !gen.Lparen.IsValid() {
			group.doc = "" // it is the constant's
		}
		for _, spec := range gen.Specs {
			value := spec.(*ast.ValueSpec)
			for i, name := range value.Names {
				if i >= len(value.Values) {
					continue
				}
				text := s.evaluate(value.Values[i])
				s.values[name.Name] = text
				doc := docText(value.Doc)
				if !gen.Lparen.IsValid() {
					doc = docText(gen.Doc)
				}
				group.constants = append(group.constants, constant{name.Name, text, doc})
			}
		}
		s.constants = append(s.constants, group)
	}
}

// evaluate knows text, constants and their sums.
func (s *source) evaluate(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
		return e.Value
	case *ast.Ident:
		return s.values[e.Name]
	case *ast.BinaryExpr:
		return s.evaluate(e.X) + s.evaluate(e.Y)
	}
	return ""
}

func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = path
	}
	return imports
}

// docText is a comment without its markers.
func docText(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(group.Text()) {
		if !strings.HasPrefix(line, "+") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}
