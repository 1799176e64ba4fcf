// The schema, and the analyst's own statements so far.
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api";
import { problemOf } from "./failure";
import { figure } from "./format";
import { isData, literal, type Schema, type SchemaColumn, type SchemaTable } from "./schema";

// A column's comment names so many of its values.
const namedValues = 20;

// Values are those of a domain: a page, and the next ones when asked.
function Values({ table, column, insert }: { table: SchemaTable; column: SchemaColumn; insert: (text: string) => void }) {
  const [list, setList] = useState<(string | null)[]>();
  const [next, setNext] = useState<string>();
  const [text, setText] = useState("");
  const [failed, setFailed] = useState("");
  const lastRead = useRef(0);
  const read = async (text: string, after: string, kept: (string | null)[]) => {
    const thisRead = ++lastRead.current;
    try {
      const page = await api.values({ schema: table.schema, table: table.name, column: column.name, text, after });
      if (thisRead !== lastRead.current) return;
      setList([...kept, ...page.values]);
      setNext(page.next);
      setFailed("");
    } catch (e) {
      if (thisRead === lastRead.current) setFailed(problemOf(e).message);
    }
  };
  const search = (e: Event) => {
    const wanted = (e.target as HTMLInputElement).value;
    setText(wanted);
    read(wanted, "", []);
  };
  return (
    <details class="said" onToggle={(e) => (e.target as HTMLDetailsElement).open && !list && read(text, "", [])}>
      <summary>All {column.values} values</summary>
      <label>Search <input value={text} onInput={search} /></label>
      {failed && <p role="alert">{failed}</p>}
      {list && list.length === 0 && <p role="status">No value has this text.</p>}
      <ul aria-label={"Values of " + column.name}>
        {(list ?? []).map((v) => <li><button class="plain" onClick={() => insert(literal(v))} title="Insert into the statement">{v === null ? <em>NULL</em> : v || "''"}</button></li>)}
      </ul>
      {next && <button onClick={() => read(text, next, list!)}>More values</button>}
    </details>
  );
}

// Says is a comment. A long one is opened.
function Says({ text }: { text: string }) {
  if (text.length <= 480) return <div class="said">{text}</div>;
  const end = text.lastIndexOf(" ", 400);
  const cut = end > 0 ? end : 400;
  return (
    <details class="said">
      <summary>{text.slice(0, cut)} …</summary>
      {text.slice(cut)}
    </details>
  );
}

function Tables({ schema, insert }: { schema: Schema | undefined; insert: (name: string) => void }) {
  if (!schema) return <p class="said">Loading</p>;
  const areFew = schema.tables.filter(isData).length < 4;
  return (
    <>
      {schema.tables.map((t) => (
        <details open={areFew && isData(t)}>
          <summary>{t.schema === "public" ? t.name : t.schema + "." + t.name}</summary>
          {t.says && <p class="said">{t.says}</p>}
          <ul>
            {t.columns.map((c) => (
              <li>
                <button class="plain" onClick={() => insert(c.sql)} title="Insert into the statement">{c.name}</button> <span class="said">{c.type}</span>
                {c.says && <Says text={c.says} />}
                {c.values > namedValues && <Values table={t} column={c} insert={insert} />}
              </li>
            ))}
          </ul>
        </details>
      ))}
      <details>
        <summary>settings</summary>
        <ul>
          {schema.settings.map((s) => (
            <li>
              <button class="plain" onClick={() => insert(`SET ${s.name} = '${s.value.replaceAll("'", "''")}'`)} title="Insert into the statement">{s.name}</button> <span class="said">{s.value}</span>
              {s.says && <div class="said">{s.says}</div>}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

// utc is a time of seconds since 1970, whatever the session SETs.
const utc = (epoch: string | null) => new Date(Number(epoch) * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC";

// A text with a part cut is not the statement.
const isCut = (text: string) => text.includes(" ... (cut; ");

function Query({ text, use }: { text: string | null; use: (text: string) => void }) {
  if (text === null) return <span class="said">The text of this statement is not kept.</span>;
  const short = text.length > 200 ? text.slice(0, 200) + "…" : text;
  if (isCut(text)) return <span>{short} <span class="said">Long parts of this text are not kept.</span></span>;
  return <button class="plain" onClick={() => use(text)} title="Put into the editor">{short}</button>;
}

function Statements({ ran, use }: { ran: number; use: (text: string) => void }) {
  const [list, setList] = useState<api.Table>();
  const [failed, setFailed] = useState("");
  useEffect(() => {
    api.statements().then((t) => { setList(t); setFailed(""); }, (e) => setFailed(e instanceof api.Refused ? e.problem.message : String(e)));
  }, [ran]);
  if (failed) return <p class="said" role="alert">{failed}</p>;
  if (!list) return <p class="said">Loading</p>;
  if (list.rows.length === 0) return <p class="said">Nothing was charged yet.</p>;
  const now = Date.now() / 1000;
  return (
    <ol>
      {list.rows.map(([, made, state, price, query, until]) => (
        <li>
          <Query text={query} use={use} />
          <div class="said">
            {utc(made)}, price {figure(Number(price))}{state === "committed" ? "" : ", " + state}
            {until !== null && Number(until) > now ? `, free again until ${utc(until)}` : ""}
          </div>
        </li>
      ))}
    </ol>
  );
}

export function Aside({ schema, ran, use, insert }: { schema: Schema | undefined; ran: number; use: (text: string) => void; insert: (name: string) => void }) {
  const [tab, setTab] = useState<"schema" | "statements">("schema");
  const tabs = ["schema", "statements"] as const;
  return (
    <aside aria-label="Schema and statements">
      <div class="tabs" role="tablist">
        {tabs.map((t) => (
          <button role="tab" id={"tab-" + t} aria-controls="aside" aria-selected={tab === t} tabIndex={tab === t ? 0 : -1} onClick={() => setTab(t)} onKeyDown={(e) => {
            if (e.key !== "ArrowRight" && e.key !== "ArrowLeft") return;
            const other = tabs[1 - tabs.indexOf(t)];
            setTab(other);
            document.getElementById("tab-" + other)!.focus();
          }}>{t === "schema" ? "Schema" : "My statements"}</button>
        ))}
      </div>
      <div role="tabpanel" id="aside" aria-labelledby={"tab-" + tab}>
        {tab === "schema" ? <Tables schema={schema} insert={insert} /> : <Statements ran={ran} use={use} />}
      </div>
    </aside>
  );
}
