// The SQL editor: CodeMirror with PostgreSQL's dialect, and completion of the analyst's own schema.
import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, currentCompletions, ifNotIn, selectedCompletionIndex, setSelectedCompletion, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql, SQLDialect, type SQLNamespace } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { isData, type Schema, type SchemaTable } from "./schema";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: tags.typeName, color: "var(--keyword)" },
]);

const theme = EditorView.theme({
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { background: "var(--raised)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { background: "color-mix(in srgb, var(--accent) 30%, transparent)" },
  ".cm-tooltip": { background: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--on-accent)" },
});

// What some functions do, and the ones that have a syntax of their own. The server names all others.
const described: Record<string, string> = {
  count: "rows, or values", sum: "of a number", avg: "of a number", min: "of many people's values", max: "of many people's values", stddev: "of a number", variance: "of a number",
  corr: "of two numbers", regr_slope: "of two numbers", regr_intercept: "of two numbers", percentile_cont: "WITHIN GROUP (ORDER BY x)", percentile_disc: "WITHIN GROUP (ORDER BY x)", mode: "WITHIN GROUP (ORDER BY x)",
  dp_error: "95% error of an aggregate", dp_low: "lower end of an aggregate's 95% interval", dp_high: "upper end of an aggregate's 95% interval",
  dp_predict: "what a model says", dp_predict_proba: "the probability that a model says",
  date_trunc: "a time, cut to a unit", extract: "a part of a time", coalesce: "the first that is not NULL", nullif: "NULL for one value", greatest: "", least: "",
};

// The dialect has the words that dpsql takes: what it refuses is not offered.
const dpsql = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: "all alter and any as asc begin between by case commit create cross cube current_date current_timestamp deallocate desc describe distinct dp drop else end escape evaluate every except execute exists explain false fetch filter first following from full group grouping having if ilike in inner intersect interval is join last lateral left like limit method model natural not null nulls of offset on or order outer over partition preceding prepare range recursive replace reset right rollback row rows select set sets show similar split start synthetic table target then threshold time timestamp to train transaction true unbounded union using values verbose watch when where window with within zone",
  types: "bigint bool boolean char date decimal double float int integer interval numeric precision real smallint text time timestamp timestamptz varchar",
  builtin: "",
});

// Statements of dpsql's own.
const statements: [string, string][] = [
  ["TRAIN DP MODEL", "name USING ... TARGET ... WITH (epsilon = ...) AS SELECT ..."], ["EVALUATE DP MODEL", "name ON SELECT ..."],
  ["CREATE DP CUBE", "name AS SELECT ... GROUP BY CUBE (...) WITH (price = ...)"],
  ["CREATE DP WATCH", "name AS SELECT ... THRESHOLD ... EVERY '1 day'"], ["CREATE DP SYNTHETIC TABLE", "name WITH (epsilon = ...) AS SELECT ..."],
];

// inFrom are the tables that a text names behind FROM, JOIN or a comma.
function inFrom(text: string, tables: SchemaTable[]): SchemaTable[] {
  const named = new Set([...text.matchAll(/(?:\b(?:from|join)\b|,)\s*((?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))?)/gi)].map((m) => m[1].replaceAll('"', "").toLowerCase()));
  return tables.filter((t) => named.has(t.name.toLowerCase()) || named.has((t.schema + "." + t.name).toLowerCase()));
}

// Where a word is no name and no keyword.
const noWords = ["String", "LineComment", "BlockComment", "QuotedIdentifier"];

// complete takes the chosen completion, or the first one.
function complete(view: EditorView): boolean {
  if (currentCompletions(view.state).length === 0) return false;
  if (selectedCompletionIndex(view.state) === null) view.dispatch({ effects: setSelectedCompletion(0) });
  acceptCompletion(view);
  return true;
}

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
  let tables: SchemaTable[] = [];
  let functions = Object.keys(described);
  const more = (c: CompletionContext) => {
    const word = c.matchBefore(/(?<![\w.])([A-Za-z_][\w.]*)?/); // no number
    if (!word || (word.from === word.to && !c.explicit)) return null;
    const text = c.state.doc.toString();
    const named = inFrom(text, tables);
    const from = named.length > 0 || !/\bselect\b/i.test(text.slice(0, word.from)) ? named : tables.filter(isData); // FROM is often written later
    return {
      from: word.from,
      options: [
        ...(word.text.includes(".") ? [] : from.flatMap((t) => t.columns.map((k) => ({ label: k.name, apply: k.sql, detail: `${t.name}, ${k.type}`, type: "property", boost: 50 })))),
        ...statements.map(([label, detail]) => ({ label, detail, type: "keyword" })),
        ...functions.map((label) => ({ label, detail: described[label] ?? "", type: "function", apply: label + "(" })),
        ...settings.map(([label, detail]) => ({ label, detail, type: "property" })),
      ],
    };
  };
  const language = new Compartment();
  const dialect = (schema: SQLNamespace, defaultSchema = "public") => [sql({ dialect: dpsql, schema, defaultSchema, upperCaseKeywords: true }), dpsql.language.data.of({ autocomplete: ifNotIn(noWords, more) })];
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: start,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run: (view) => (closeCompletion(view), run(), true) }, { key: "Tab", run: complete }]),
        lineNumbers(), history(), bracketMatching(), closeBrackets(), autocompletion({ selectOnOpen: false }), theme, syntaxHighlighting(colours), EditorView.lineWrapping,
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
      tables = schema.tables;
      functions = [...new Set([...Object.keys(described), ...schema.functions])];
      settings = schema.settings.map((s) => [s.name, s.says]);
      const names: Record<string, Record<string, SQLNamespace>> = {};
      for (const t of tables) {
        const children = t.columns.map((c) => ({ label: c.name, apply: c.sql, type: "property" }));
        (names[t.schema] ??= {})[t.name] = { self: { label: t.name, apply: t.own, type: "type" }, children };
      }
      view.dispatch({ effects: language.reconfigure(dialect(names)) });
    },
  };
}
