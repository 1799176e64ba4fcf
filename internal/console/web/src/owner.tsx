// The owner's page: budget, ledger, releases, analysts, and what runs and failed.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api";
import { Failure, problemOf } from "./failure";
import { drawToFit } from "./fit";
import { figure } from "./format";
import * as owner from "./owner-api";

const at = (t: string) => new Date(t).toISOString().slice(0, 16).replace("T", " ");
const number = (x: number | null) => (x === null ? "–" : figure(x));
const everybody = (analyst: string) => analyst || "everybody";

// A table is headed by its columns. Columns with a star have numbers, and those with a dot have sentences.
function Rows({ label, columns, rows, none }: { label: string; columns: string[]; rows: ComponentChildren[][]; none: string }) {
  if (rows.length === 0) return <p class="said">{none}</p>;
  const kind = (i: number) => (columns[i].endsWith("*") ? "number" : columns[i].endsWith(".") ? "words" : "");
  return (
    <div class="rows" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>{columns.map((c, i) => <th scope="col" class={kind(i)}>{c.replace(/[*.]$/, "")}</th>)}</tr>
        </thead>
        <tbody>{rows.map((r) => <tr>{r.map((v, i) => <td class={kind(i)}>{v}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

// useAsked asks once, and again whenever again changes.
function useAsked<T>(ask: () => Promise<T>, again: unknown): [T | undefined, api.Problem | undefined] {
  const [got, setGot] = useState<T>();
  const [failed, setFailed] = useState<api.Problem>();
  useEffect(() => {
    let gone = false;
    ask().then((v) => {
      if (gone) return;
      setGot(v);
      setFailed(undefined);
    }, (e) => !gone && setFailed(problemOf(e)));
    return () => { gone = true; };
  }, [again]);
  return [got, failed];
}

function Spending({ of }: { of: owner.OverTime }) {
  const place = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let watch: ResizeObserver | undefined;
    let gone = false;
    import("./spending").then(({ draw }) => {
      if (!gone && place.current) watch = drawToFit(place.current, (width) => draw(of, new Date(), width));
    }).catch((e) => setFailed(String(e)));
    return () => {
      gone = true;
      watch?.disconnect();
    };
  }, [of]);
  return (
    <>
      {failed && <p class="said" role="alert">The chart cannot be drawn: {failed}</p>}
      <div class="chart" ref={place} />
    </>
  );
}

// What a narrow window has room for, of the columns of accounts.
const firstColumns = ["used", "more", "statements", "failures"];

// Confirm asks before somebody is stopped, or let go on.
function Confirm({ of, done }: { of: { analyst: string; lift: boolean }; done: (yes: boolean) => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current!.showModal(), []);
  const who = everybody(of.analyst);
  const close = (answer: string) => box.current!.close(answer); // which gives the focus back
  return (
    <dialog ref={box} aria-labelledby="confirm" onClose={() => done(box.current!.returnValue === "yes")}>
      <h2 id="confirm">{of.lift ? `Unfreeze ${who}?` : `Freeze ${who}?`}</h2>
      <p>{of.lift ? (of.analyst ? "Statements are answered again, also if failures stopped them. Freezes of others stay." : "Statements are answered again, also of analysts whom failures stopped. Freezes of single analysts stay.") : "Sessions end at once, and running statements with them. Stored answers, models and synthetic tables are withheld too. It holds over restarts, until you unfreeze."}</p>
      <div class="actions">
        <button autofocus onClick={() => close("")}>Cancel</button>
        <button class="first" onClick={() => close("yes")}>{of.lift ? "Unfreeze" : "Freeze"} {who}</button>
      </div>
    </dialog>
  );
}

function Budget({ again, database }: { again: number; database: string }) {
  const [asked, failed] = useAsked(owner.budget, again);
  const [over, overFailed] = useAsked(owner.overTime, again);
  const [changed, setChanged] = useState<owner.Budget>();
  const [confirming, setConfirming] = useState<{ analyst: string; lift: boolean }>();
  const [refused, setRefused] = useState<api.Problem>();
  const [said, setSaid] = useState("");
  const focus = useRef<string | undefined>(undefined); // whose button is focused when it is there: the one that was pressed is gone
  useEffect(() => setChanged(undefined), [asked]);
  useEffect(() => {
    const cell = [...document.querySelectorAll<HTMLElement>("[data-stop]")].find((e) => e.dataset.stop === focus.current);
    cell?.querySelector("button")!.focus();
    focus.current = undefined;
  }, [changed]);
  const b = changed ?? asked;
  if (failed) return <Failure of={failed} />;
  if (!b) return <p class="said">Loading</p>;
  const isFrozen = (analyst: string) => b.frozen.some((f) => f.analyst === analyst);
  const isStopped = (analyst: string) => b.stopped.some((s) => s.analyst === analyst);
  const confirmed = async (yes: boolean) => {
    const { analyst, lift } = confirming!;
    setConfirming(undefined);
    if (!yes) return;
    try {
      const now = await owner.freeze(analyst, lift);
      focus.current = analyst;
      setChanged(now);
      setRefused(undefined);
      setSaid(`${everybody(analyst)}: ${lift ? "no longer frozen" : "frozen"}`);
    } catch (e) {
      setRefused(problemOf(e));
    }
  };
  const freezer = (analyst: string) => {
    const button = (lift: boolean) => <button onClick={() => setConfirming({ analyst, lift })}>{lift ? "Unfreeze" : "Freeze"} {everybody(analyst)}</button>;
    return <span data-stop={analyst}>{!isFrozen(analyst) && button(false)} {(isFrozen(analyst) || isStopped(analyst)) && button(true)}</span>;
  };
  return (
    <>
      {refused && <Failure of={refused} />}
      <p role="status" class={said ? "" : "away"}>{said}</p>
      {(b.frozen.length > 0 || b.stopped.length > 0) && <ul class="error">{b.words.stops.map((s) => <li>{s}</li>)}</ul>}
      {b.data_sets.map((d, n) => {
        const mine = over && over.curves.length > 0 && d.data_set === database;
        const forecast = (a: owner.Account) => (mine ? over.forecasts.find((f) => f.analyst === a.analyst && f.role === a.role) : undefined);
        const whole = forecast(d.accounts[0]);
        const words = b.words.data_sets[n];
        const columns = words.columns.map((c, i, all) => (c === "left" ? all[i - 1].replace("spent", "left") : c));
        const shown = [...firstColumns, ...columns.slice(1).filter((c) => !firstColumns.includes(c))].map((c) => columns.indexOf(c));
        return (
          <section aria-label={d.data_set}>
            <h2>{d.data_set}</h2>
            <dl class="facts">
              <dt>Budget</dt>
              <dd>{words.budget}</dd>
              <dt>Forecast</dt>
              <dd>{!whole ? "Nothing is spent yet" : [whole.text, whole.pace].filter(Boolean).join(". ")}</dd>
              <dt>Lifetime</dt>
              <dd>{b.words.lifetime}</dd>
            </dl>
            {mine && <Spending of={over} />}
            {overFailed && <Failure of={overFailed} />}
            <Rows label="Accounts" none="" columns={["who", "stop", "forecast.", ...shown.map((i) => columns[i] + "*")]}
              rows={d.accounts.map((a, i) => [words.rows[i][0], a.role ? "" : freezer(a.analyst ?? ""), forecast(a)?.text ?? "", ...shown.map((k) => words.rows[i][k])])} />
            <ul class="said">{words.legend.map((l) => <li>{l}</li>)}</ul>
          </section>
        );
      })}
      {confirming && <Confirm of={confirming} done={confirmed} />}
    </>
  );
}

// Statement is a statement's text. A long one scrolls, so that what is below it can be found.
function Statement({ text }: { text: string }) {
  const isLong = text.length > 600 || text.split("\n").length > 10;
  return isLong ? <pre tabIndex={0} role="region" aria-label="Statement">{text}</pre> : <pre>{text}</pre>;
}

const short = (fingerprint: string) => <code title={fingerprint}>{fingerprint.slice(0, 12)}</code>;

const latest = Number.MAX_SAFE_INTEGER;

function Ledger({ again, of, set }: { again: number; of: owner.Filter; set: (f: owner.Filter) => void }) {
  const [list, setList] = useState<owner.Charge[]>();
  const [next, setNext] = useState(0);
  const [failed, setFailed] = useState<api.Problem>();
  const [names] = useAsked(owner.analysts, 0);
  const lastRead = useRef(0);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    for (const [name, value] of Object.entries(of)) (form.current!.elements.namedItem(name) as HTMLInputElement).value = value;
  }, [of, names]);
  const read = async (before: number, kept: owner.Charge[]) => {
    const thisRead = ++lastRead.current;
    try {
      const page = await owner.statements(of, before);
      if (thisRead !== lastRead.current) return;
      setList([...kept, ...(page.charges ?? [])]);
      setNext(page.next ?? 0);
      setFailed(undefined);
    } catch (e) {
      if (thisRead === lastRead.current) setFailed(problemOf(e));
    }
  };
  useEffect(() => { read(latest, []); }, [again, of]);
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    const now = new FormData(form.current!);
    set({ analyst: String(now.get("analyst")), fingerprint: String(now.get("fingerprint")), text: String(now.get("text")) });
  };
  return (
    <>
      <form class="actions" onSubmit={submit} ref={form}>
        <label>Analyst <select name="analyst">
          <option value="">all</option>
          {(names ?? []).map((a) => <option value={a.name}>{a.name}</option>)}
        </select></label>
        <label>Text <input name="text" /></label>
        <label>Fingerprint <input name="fingerprint" /></label>
        <button class="first">Show</button>
      </form>
      {failed && <Failure of={failed} />}
      {!list ? <p class="said">Loading</p> : (
        <Rows label="Charges" none="No charge is of such a statement. Repeats of stored answers have none." columns={["time, UTC", "analyst", "price*", "charge*", "fingerprint", "statement"]}
          rows={list.map((c) => [at(c.time), c.analyst, number(c.price), c.charge, short(c.statement), c.unread ? <em>{c.unread}</em> : <><Statement text={c.text ?? ""} />{c.cut && <span class="said">Parts of this text were cut and are not kept. A search lists it whatever it asks for.</span>}</>])} />
      )}
      {next > 0 && <button onClick={() => read(next, list ?? [])}>Older charges</button>}
    </>
  );
}

function Releases({ again, show }: { again: number; show: (fingerprint: string) => void }) {
  const [list, failed] = useAsked(owner.releases, again);
  if (failed) return <Failure of={failed} />;
  if (!list) return <p class="said">Loading</p>;
  return (
    <>
      <p class="said">Stored answers. They are given again at no charge until they expire.</p>
      <Rows label="Releases" none="Nothing is stored." columns={["made, UTC", "expires, UTC", "paid by", "price*", "charge*", "bytes*", "statement"]}
        rows={list.map((r) => [at(r.made), at(r.expires), r.analyst, number(r.price), r.charge, r.bytes, <button class="plain" onClick={() => show(r.statement)}>{r.statement.slice(0, 12)}</button>])} />
    </>
  );
}

function Analysts({ again }: { again: number }) {
  const [list, failed] = useAsked(owner.analysts, again);
  if (failed) return <Failure of={failed} />;
  if (!list) return <p class="said">Loading</p>;
  return (
    <>
      <p class="said">As the policy in force has them. Change the policy file, then run dpsql reload.</p>
      <Rows label="Analysts" none="The policy has no analyst." columns={["name", "roles", "quota (epsilon)*", "largest price*", "sees"]}
        rows={list.map((a) => [a.name, [...a.roles.map((r) => r + " (with a budget)"), ...a.other_roles].join(", ") || "–", number(a.epsilon), number(a.max_price), (a.tables ?? []).length === 0 ? "nothing" : (
          <ul class="plain">{a.tables!.map((t) => <li><code>{t.name}</code> <span class="said">{(t.columns ?? []).join(", ")}</span></li>)}</ul>
        )])} />
    </>
  );
}

function Now({ of, show }: { of: owner.State; show: (fingerprint: string) => void }) {
  return (
    <>
      <h2>Running statements</h2>
      <Rows label="Running statements" none="No statement runs." columns={["since, UTC", "analyst", "client", "statement"]} rows={of.running.map((r) => [at(r.since), r.analyst, r.client, <Statement text={r.text} />])} />
      <h2>Statements that failed, or were denied or canceled</h2>
      <p class="said">The last 200 since this server was started. The audit log has all. <code>dpsql errors</code> explains an error.</p>
      <Rows label="Failures" none="There are none." columns={["time, UTC", "analyst", "outcome", "error", "charge*", "statement"]}
        rows={of.ended.map((e) => [at(e.time), e.analyst, e.outcome, <code>{e.error}</code>, e.charge ?? "–", e.charge ? <button class="plain" onClick={() => show(e.statement)}>{e.statement.slice(0, 12)}</button> : short(e.statement)])} />
    </>
  );
}

const tabs = ["Budget", "Ledger", "Releases", "Analysts", "Running and failed"] as const;

export function OwnersPage({ is, left: leave }: { is: api.Login; left: (said: string) => void }) {
  const [tab, setTab] = useState<(typeof tabs)[number]>("Budget");
  const [again, setAgain] = useState(0);
  const [filter, setFilter] = useState<owner.Filter>({ analyst: "", fingerprint: "", text: "" });
  const [state, failed] = useAsked(owner.state, `${again} ${tab}`);
  const go = (to: number) => {
    setTab(tabs[to]);
    document.getElementById("tab-" + to)!.focus();
  };
  const show = (fingerprint: string) => {
    setFilter({ analyst: "", fingerprint, text: "" });
    go(1);
  };
  const moves: Record<string, (i: number) => number> = { ArrowRight: (i) => (i + 1) % tabs.length, ArrowLeft: (i) => (i + tabs.length - 1) % tabs.length, Home: () => 0, End: () => tabs.length - 1 };
  return (
    <>
      <header>
        <h1>dpsql</h1>
        <span>{is.database}</span>
        <span class={"left" + (failed || (state && state.health !== "ok") ? " bad" : "")} id="health" role="status">{failed ? failed.message : state ? `Health: ${state.health}` : ""}</span>
        <span>owner ({is.user})</span>
        <button onClick={() => setAgain((n) => n + 1)}>Refresh</button>
        <button onClick={async () => { await api.logout().catch(() => {}); leave(""); }}>Log out</button>
      </header>
      <main class="owner">
        <div class="tabs" role="tablist" aria-label="The owner's page">
          {tabs.map((t, i) => (
            <button role="tab" id={"tab-" + i} aria-controls="panel" aria-selected={tab === t} tabIndex={tab === t ? 0 : -1} onClick={() => setTab(t)} onKeyDown={(e) => {
              const to = moves[e.key];
              if (!to) return;
              e.preventDefault();
              go(to(i));
            }}>{t}</button>
          ))}
        </div>
        <div role="tabpanel" id="panel" aria-labelledby={"tab-" + tabs.indexOf(tab)}>
          {tab === "Budget" && <Budget again={again} database={is.database} />}
          {tab === "Ledger" && <Ledger again={again} of={filter} set={setFilter} />}
          {tab === "Releases" && <Releases again={again} show={show} />}
          {tab === "Analysts" && <Analysts again={again} />}
          {tab === "Running and failed" && (state ? <Now of={state} show={show} /> : <p class="said">Loading</p>)}
        </div>
      </main>
    </>
  );
}
