package harness;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A value of JSON: a Map, List, String, Double, Boolean or null. The JDK has no reader. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object parse(String text) {
        Json j = new Json(text);
        Object value = j.value();
        j.space();
        Check.that(j.at == text.length(), "JSON goes on after its end: %s", text);
        return value;
    }

    /** The value at a path of keys and positions, "node.privacy.spent" or "3.number". */
    static Object at(Object value, String path) {
        for (String key : path.split("\\.")) {
            if (value instanceof List) {
                value = ((List<?>) value).get(Integer.parseInt(key));
            } else {
                Check.that(value instanceof Map && ((Map<?, ?>) value).containsKey(key), "no %s of %s in %s", key, path, value);
                value = ((Map<?, ?>) value).get(key);
            }
        }
        return value;
    }

    static double number(Object value, String path) {
        return (Double) at(value, path);
    }

    static String string(Object value, String path) {
        return (String) at(value, path);
    }

    private Object value() {
        space();
        char c = text.charAt(at);
        if (c == '{') {
            return object();
        }
        if (c == '[') {
            return list();
        }
        if (c == '"') {
            return string();
        }
        int start = at;
        while (at < text.length() && ",]} \n\t\r".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(start, at);
        switch (word) {
            case "true": return true;
            case "false": return false;
            case "null": return null;
            default: return Double.valueOf(word);
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> map = new LinkedHashMap<>();
        for (at++; !take('}'); take(',')) {
            space();
            String key = string();
            Check.that(take(':'), "JSON without a colon at %d: %s", at, text);
            map.put(key, value());
        }
        return map;
    }

    private List<Object> list() {
        List<Object> list = new ArrayList<>();
        for (at++; !take(']'); take(',')) {
            list.add(value());
        }
        return list;
    }

    private String string() {
        StringBuilder s = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c == '\\') {
                c = text.charAt(++at);
                if (c == 'u') {
                    c = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                    at += 4;
                } else {
                    c = "nt".indexOf(c) < 0 ? c : c == 'n' ? '\n' : '\t';
                }
            }
            s.append(c);
        }
        at++;
        return s.toString();
    }

    private boolean take(char c) {
        space();
        if (text.charAt(at) != c) {
            return false;
        }
        at++;
        return true;
    }

    private void space() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }
}
