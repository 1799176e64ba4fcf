// The SQL editor: CodeMirror with PostgreSQL's dialect, and completion of the analyst's own schema.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Schema } from "./schema";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: tags.typeName, color: "var(--keyword)" },
]);

const looks = EditorView.theme({
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { background: "var(--raised)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { background: "color-mix(in srgb, var(--accent) 30%, transparent)" },
  ".cm-tooltip": { background: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
});

// What may be called, by what it does: the usual ones, and dpsql's own.
const functions: [string, string][] = [
  ["count", "rows, or values"], ["sum", "of a number"], ["avg", "of a number"], ["min", "of many people's values"], ["max", "of many people's values"], ["stddev", "of a number"],
  ["variance", "of a number"], ["corr", "of two numbers"], ["regr_slope", "of two numbers"], ["regr_intercept", "of two numbers"], ["percentile_cont", "WITHIN GROUP (ORDER BY x)"],
  ["dp_error", "95% error of an aggregate"], ["dp_low", "lower end of an aggregate's 95% interval"], ["dp_high", "upper end of an aggregate's 95% interval"],
  ["dp_predict", "what a model says"], ["dp_predict_proba", "the probability that a model says"],
  ["date_trunc", "a time, cut to a unit"], ["extract", "a part of a time"], ["coalesce", "the first that is not NULL"], ["nullif", "NULL for one value"], ["greatest", ""], ["least", ""],
  ["round", ""], ["floor", ""], ["ceil", ""], ["abs", ""], ["ln", ""], ["exp", ""], ["sqrt", ""], ["power", ""], ["lower", ""], ["upper", ""], ["length", ""], ["substring", ""], ["width_bucket", ""],
];

export interface Editor {
  view: EditorView;
  text(): string;
  cursor(): number;
  replace(text: string): void;
  mark(position: number | undefined, message: string): void;
  learn(schema: Schema): void;
}

export function editor(parent: HTMLElement, start: string, changed: () => void, run: () => void): Editor {
  let settings: [string, string][] = [];
  const more = (c: CompletionContext) => {
    const word = c.matchBefore(/[\w.]*/);
    if (!word || (word.from === word.to && !c.explicit)) return null;
    return {
      from: word.from,
      options: [
        ...functions.map(([label, detail]) => ({ label, detail, type: "function", apply: label + "(" })),
        ...settings.map(([label, detail]) => ({ label, detail, type: "property" })),
      ],
    };
  };
  const language = new Compartment();
  const dialect = (schema: Record<string, readonly string[]>, defaultSchema = "public") => [sql({ dialect: PostgreSQL, schema, defaultSchema, upperCaseKeywords: true }), PostgreSQL.language.data.of({ autocomplete: more })];
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: start,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }]),
        lineNumbers(), history(), bracketMatching(), closeBrackets(), autocompletion(), looks, syntaxHighlighting(colours), EditorView.lineWrapping,
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "SQL statement" }),
        EditorView.updateListener.of((u) => {
          if (u.docChanged || u.selectionSet) changed();
        }),
        language.of(dialect({})),
      ],
    }),
  });
  return {
    view,
    text: () => view.state.doc.toString(),
    cursor: () => view.state.selection.main.head,
    replace(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: text.length } });
      view.focus();
    },
    mark(position, message) {
      const end = view.state.doc.length;
      const list = [];
      if (position !== undefined) {
        const from = Math.min(position, end);
        const word = view.state.wordAt(from);
        list.push({ from, to: Math.max(word ? word.to : from + 1, from), severity: "error" as const, message });
        list[0].to = Math.min(list[0].to, end);
      }
      view.dispatch(setDiagnostics(view.state, list));
    },
    learn(schema) {
      settings = schema.settings.map((s) => [s.name, s.says]);
      view.dispatch({ effects: language.reconfigure(dialect(Object.fromEntries(schema.tables.map((t) => [t.schema + "." + t.name, t.columns.map((c) => c.name)])))) });
    },
  };
}
