// The endpoints of the server. The token stays in this module's memory.

export interface Problem {
  code?: string;
  message: string;
  detail?: string;
  hint?: string;
  position?: number; // none: of no place in the text
}

// Part is a line of EXPLAIN. One with a key is what an analyst needs first.
interface Part {
  key?: string;
  text: string;
}

export interface Explanation {
  lines: Part[] | null;
  note?: string;
  error?: Problem;
}

export interface Table {
  columns: string[];
  rows: (string | null)[][];
}

export interface Column {
  name: string;
  kind: "number" | "duration" | "time" | "bool" | "text";
  constant?: boolean;
}

export interface Interval {
  of: number;
  low?: number;
  high?: number;
  why?: string; // of NULL
  unknown?: string; // why there are no ends
  at_once?: boolean; // it holds with those of the column's other rows at once
  part?: boolean; // it is an error or an end of an interval itself
}

// Row has an interval for each noisy number.
export type Row = { values: (string | null)[]; intervals: (Interval | undefined)[] };

export interface Login {
  token: string;
  user: string;
  owner: boolean;
  database: string;
  again: boolean;
}

// Link says whom a link logs in.
export interface Link {
  user: string;
  owner: boolean;
  database: string;
}

export class Refused extends Error {
  constructor(public problem: Problem, public status: number) {
    super(problem.message);
  }
}

let token = "";
let logoutPath = "logout";
let ended: (why: Problem) => void = () => {};

export function onEnd(f: (why: Problem) => void) {
  ended = f;
}

// A page that is closed or loaded anew ends its session, which counts among its user's connections.
addEventListener("pagehide", () => {
  if (token !== "") send(logoutPath, {}, true).catch(() => {});
});
addEventListener("pageshow", (e) => {
  if (e.persisted && token !== "") {
    token = "";
    ended({ message: "this session has ended", hint: "Log in again." });
  }
});

const send = (path: string, body: unknown, keepalive = false) =>
  fetch("/api/" + path, { method: "POST", keepalive, headers: { "Content-Type": "application/json", "X-Dpsql-Token": token }, body: JSON.stringify(body) });

async function post(path: string, body: unknown): Promise<Response> {
  let r: Response;
  try {
    r = await send(path, body);
  } catch {
    throw new Refused({ message: "dpsql does not answer", hint: "It may have been stopped. Reload this page when it runs." }, 0);
  }
  if (!r.ok) {
    const { error } = await r.json().catch(() => ({ error: { message: `the server answered ${r.status}` } }));
    if (r.status === 401 && token !== "") {
      token = "";
      ended(error);
    }
    throw new Refused(error, r.status);
  }
  return r;
}

export async function ask<T>(path: string, body: unknown = {}): Promise<T> {
  return (await post(path, body)).json();
}

export async function login(by: { user: string; password: string } | { link: string }): Promise<Login> {
  const is = await ask<Login>("login", by);
  token = is.token;
  logoutPath = is.owner ? "owner/logout" : "logout";
  return is;
}

export const describeLink = (link: string) => ask<Link>("link", { link });

export async function logout(): Promise<void> {
  await ask(logoutPath);
  token = "";
}

export const budget = () => ask<{ left: string }>("budget");
export const explain = (sql: string, cursor: number) => ask<Explanation>("explain", { sql, cursor });
export const cancel = () => ask("cancel");
export const statements = () => ask<Table>("statements");
export const schema = () => ask<{ columns: Table; settings: Table; functions: string[] }>("schema");

interface ValuesPage {
  values: (string | null)[];
  next?: string; // none: this is the last
}

// values is a page of a column's domain: of those that have a text in them.
export const values = (of: { schema: string; table: string; column: string; text: string; after: string }) => ask<ValuesPage>("values", of);

interface Heard {
  notice(severity: string, text: string): void;
  progress(text: string): void;
  columns(list: Column[]): void;
  rows(list: Row[]): void;
}

interface Done {
  tag: string; // of the command
  left: string;
  schema: boolean; // it may be another now
}

// run asks a statement and tells what is heard of it.
export async function run(sql: string, cursor: number, heard: Heard): Promise<Done> {
  const r = await post("run", { sql, cursor });
  const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
  let columns = 0;
  for (let text = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const [head, body] = text.slice(0, end).split("\n", 2);
      const event = head.slice("event: ".length);
      const data = JSON.parse(body.slice("data: ".length));
      if (event === "notice") heard.notice(data.severity, data.text);
      else if (event === "progress") heard.progress(data);
      else if (event === "columns") {
        columns = data.length;
        heard.columns(data);
      } else if (event === "rows") {
        heard.rows(
          data.rows.map((values: (string | null)[], i: number) => {
            const intervals: (Interval | undefined)[] = Array(columns).fill(undefined);
            for (const x of (data.intervals[i] ?? []) as Interval[]) intervals[x.of] = x;
            return { values, intervals };
          }),
        );
      } else if (event === "error") throw new Refused(data, 200);
      else if (event === "done") return data;
    }
  }
  throw new Refused({ message: "the answer ended early", hint: "Ask again. What was released is answered at no charge." }, 0);
}
