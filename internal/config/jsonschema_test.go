package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// validate says how a value breaks a JSON schema, or nothing. It knows the
// keywords that the editors' schema uses, and panics at any other, so that none
// goes unchecked.
func validate(root, schema map[string]any, v any, at string) string {
	for keyword, arg := range schema {
		if wrong := check(root, schema, keyword, arg, v, at); wrong != "" {
			return wrong
		}
	}
	return ""
}

func check(root, schema map[string]any, keyword string, arg, v any, at string) string {
	no := func(format string, args ...any) string { return at + ": " + fmt.Sprintf(format, args...) }
	text, isText := v.(string)
	number, isNumber := asNumber(v)
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	switch keyword {
	case "$schema", "title", "description", "default", "definitions", "properties":
	case "$ref":
		name := strings.TrimPrefix(arg.(string), "#/definitions/")
		return validate(root, root["definitions"].(map[string]any)[name].(map[string]any), v, at)
	case "type":
		ok := map[string]bool{"string": isText, "array": isList, "object": isObject, "number": isNumber,
			"integer": isNumber && number == float64(int64(number)), "boolean": reflect.ValueOf(v).Kind() == reflect.Bool}[arg.(string)]
		if !ok {
			return no("want %v, got %v", arg, v)
		}
	case "const":
		if !same(arg, v) {
			return no("want %v, got %v", arg, v)
		}
	case "enum":
		for _, one := range arg.([]any) {
			if same(one, v) {
				return ""
			}
		}
		return no("want one of %v, got %v", arg, v)
	case "pattern":
		if isText && !regexp.MustCompile(arg.(string)).MatchString(text) {
			return no("%q does not match %v", v, arg)
		}
	case "minLength", "maxLength":
		if isText && (len([]rune(text)) < int(arg.(float64))) == (keyword == "minLength") && len([]rune(text)) != int(arg.(float64)) {
			return no("%s %v", keyword, arg)
		}
	case "minimum":
		if isNumber && number < arg.(float64) {
			return no("want at least %v", arg)
		}
	case "exclusiveMinimum":
		if isNumber && number <= arg.(float64) {
			return no("want more than %v", arg)
		}
	case "maximum":
		if isNumber && number > arg.(float64) {
			return no("want at most %v", arg)
		}
	case "minItems", "minProperties":
		if (isList || isObject) && reflect.ValueOf(v).Len() < int(arg.(float64)) {
			return no("want at least %v", arg)
		}
	case "maxItems", "maxProperties":
		if (isList || isObject) && reflect.ValueOf(v).Len() > int(arg.(float64)) {
			return no("want at most %v", arg)
		}
	case "uniqueItems":
		for i := range list {
			for j := range i {
				if same(list[i], list[j]) {
					return no("%v stands there twice", list[i])
				}
			}
		}
	case "items":
		for i, item := range list {
			if wrong := validate(root, arg.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i)); wrong != "" {
				return wrong
			}
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, ok := object[name.(string)]; isObject && !ok {
				return no("%v is missing", name)
			}
		}
	case "propertyNames":
		for name := range object {
			if wrong := validate(root, arg.(map[string]any), name, at); wrong != "" {
				return wrong
			}
		}
	case "additionalProperties":
		return checkProperties(root, schema, arg, object, at)
	case "not":
		if validate(root, arg.(map[string]any), v, at) == "" {
			return no("%v is what it must not be", v)
		}
	case "allOf", "oneOf":
		return checkAll(root, keyword, arg.([]any), v, at)
	default:
		panic("the schema uses " + keyword + ", which this test does not know")
	}
	return ""
}

func checkProperties(root, schema map[string]any, others any, object map[string]any, at string) string {
	known, _ := schema["properties"].(map[string]any)
	for name, v := range object {
		inner, ok := known[name].(map[string]any)
		if !ok {
			if inner, ok = others.(map[string]any); !ok {
				return fmt.Sprintf("%s: unknown key %s", at, name)
			}
		}
		if wrong := validate(root, inner, v, at+"."+name); wrong != "" {
			return wrong
		}
	}
	return ""
}

func checkAll(root map[string]any, keyword string, schemas []any, v any, at string) string {
	fit, last := 0, ""
	for _, s := range schemas {
		if wrong := validate(root, s.(map[string]any), v, at); wrong != "" {
			last = wrong
		} else {
			fit++
		}
	}
	switch {
	case keyword == "allOf" && fit < len(schemas), keyword == "oneOf" && fit == 0:
		return last
	case keyword == "oneOf" && fit > 1:
		return fmt.Sprintf("%s: %v fits %d of oneOf", at, v, fit)
	}
	return ""
}

func asNumber(v any) (float64, bool) {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int, reflect.Int64:
		return float64(r.Int()), true
	case reflect.Uint, reflect.Uint64:
		return float64(r.Uint()), true
	case reflect.Float64:
		return r.Float(), true
	}
	return 0, false
}

func same(a, b any) bool {
	x, isX := asNumber(a)
	y, isY := asNumber(b)
	if isX && isY {
		return x == y
	}
	return reflect.DeepEqual(a, b)
}
