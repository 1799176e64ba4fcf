import { render } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api";
import { Answer, type Result } from "./answer";
import { Aside } from "./aside";
import { editor, type Editor } from "./editor";
import { Failure, problemOf, sentence } from "./failure";
import type { OwnersPage } from "./owner";
import { examples, read, type Schema } from "./schema";

function Login({ done, said }: { done: (is: api.Login) => void; said: string }) {
  const [failed, setFailed] = useState<api.Problem>();
  const [busy, setBusy] = useState(false);
  const submit = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = new FormData(e.target as HTMLFormElement);
    setBusy(true);
    try {
      done(await api.login({ user: String(form.get("user")), password: String(form.get("password")) }));
    } catch (e) {
      setFailed(problemOf(e));
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <h1>dpsql</h1>
      {said && <p role="status">{said}</p>}
      <form onSubmit={submit} style="display: contents">
        <label>User <input name="user" autocomplete="username" required autofocus /></label>
        <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
        <button class="first" disabled={busy}>Log in</button>
      </form>
      {failed && <Failure of={failed} />}
    </main>
  );
}

// Followed asks before a link logs in: whoever was given a link of somebody else's should not ask as that user.
function Followed({ link, of, done }: { link: string; of: api.Link; done: (is: api.Login) => void }) {
  const [failed, setFailed] = useState<api.Problem>();
  const [busy, setBusy] = useState(false);
  const logIn = async () => {
    setBusy(true);
    try {
      const is = await api.login({ link });
      if (!is.again) history.replaceState(null, "", location.pathname);
      done(is);
    } catch (e) {
      setFailed(problemOf(e));
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <h1>dpsql</h1>
      <p>{of.owner ? `This link opens the owner's page of ${of.database}. What you do there is recorded as by ${of.user}.` : `This link logs you in to ${of.database}. The user is ${of.user}.`}</p>
      <button class="first" ref={(b) => b?.focus()} disabled={busy} onClick={logIn}>{of.owner ? "Open the owner's page" : `Log in as ${of.user}`}</button>
      <p class="said">If you did not ask for this link, close this page.</p>
      {failed && <Failure of={failed} />}
    </main>
  );
}

// Owners loads the owner's page, which analysts do not need.
function Owners({ is, left }: { is: api.Login; left: (said: string) => void }) {
  const [Page, setPage] = useState<{ of: typeof OwnersPage }>();
  const [failed, setFailed] = useState("");
  useEffect(() => {
    import("./owner").then((m) => setPage({ of: m.OwnersPage }), (e) => setFailed(String(e)));
  }, []);
  if (failed) return <main><p role="alert">The page cannot be loaded: {failed}</p></main>;
  return Page ? <Page.of is={is} left={left} /> : null;
}

// What an analyst was writing when the session ended, or the page was loaded again, for the same user's next log-in in this tab.
const kept = {
  of: (user: string): string => {
    const is = JSON.parse(sessionStorage.getItem("written") ?? "{}");
    return is.user === user ? is.text : "";
  },
  keep: (user: string, text: string) => sessionStorage.setItem("written", JSON.stringify({ user, text })),
};

function Price({ of, waits }: { of: api.Explanation | undefined; waits: boolean }) {
  const lines = of?.lines ?? [];
  const first = lines.filter((l) => l.key);
  const rest = lines.filter((l) => !l.key);
  return (
    <section class="price" aria-label="Price of the statement" aria-live="polite">
      {!of && <span class="said">{waits ? "The price follows when the running statement ends." : "The price of the statement is shown here while you type."}</span>}
      {of?.note && <span class="said">{of.note}</span>}
      {of?.error && <span class="said">{sentence(of.error)}</span>}
      <dl>
        {first.map((l) => [<dt>{l.key}</dt>, <dd>{l.text}</dd>])}
      </dl>
      {rest.length > 0 && (
        <details>
          <summary>How it is answered</summary>
          {rest.map((l) => <div>{l.text}</div>)}
        </details>
      )}
    </section>
  );
}

function Page({ is, left: leave }: { is: api.Login; left: (said: string) => void }) {
  const place = useRef<HTMLDivElement>(null);
  const ed = useRef<Editor | undefined>(undefined);
  const [schema, setSchema] = useState<Schema>();
  const [left, setLeft] = useState("");
  const [price, setPrice] = useState<api.Explanation>();
  const [running, setRunning] = useState(false);
  const [failed, setFailed] = useState<api.Problem>();
  const [asked, setAsked] = useState<Result>();
  const [ran, setRan] = useState(0);
  const [old, setOld] = useState(false); // the answer is another text's
  const answered = useRef("");
  const busy = useRef(false);
  const timer = useRef(0);
  const latest = useRef(0);
  const priced = useRef(""); // the text that the price is of

  // A price of another text is not shown while a statement runs, as nothing is explained then.
  const withhold = (text: string) => {
    if (text !== priced.current) setPrice(undefined);
  };

  const explain = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(async () => {
      const n = ++latest.current;
      const text = ed.current!.text();
      setOld(text !== answered.current);
      kept.keep(is.user, text);
      if (busy.current) return withhold(text);
      try {
        const e = text.trim() === "" ? { lines: [] } : await api.explain(text, ed.current!.cursor());
        if (n !== latest.current || ed.current!.text() !== text) return;
        setPrice(e);
        priced.current = text;
        ed.current!.mark(e.error?.position, e.error?.message ?? "");
      } catch (e) {
        if (n !== latest.current) return;
        setPrice({ lines: null, error: problemOf(e) });
        priced.current = text;
      }
    }, 350);
  }, []);

  const learn = async () => {
    const got = await api.schema();
    const s = read(got.columns, got.settings, got.functions);
    setSchema(s);
    ed.current!.learn(s);
    return s;
  };

  const run = useCallback(async () => {
    if (busy.current) return;
    busy.current = true;
    latest.current++;
    setRunning(true);
    setFailed(undefined);
    const now: Result = { columns: [], rows: [], notices: [], progress: "", tag: "" };
    setAsked({ ...now });
    const show = () => setAsked({ ...now });
    try {
      const text = ed.current!.text();
      answered.current = text;
      withhold(text);
      setOld(false);
      const end = await api.run(text, ed.current!.cursor(), {
        notice(severity, text) {
          now.notices = [...now.notices, severity === "WARNING" ? "Warning: " + text : text];
          show();
        },
        progress(text) {
          now.progress = text;
          show();
        },
        columns(list) {
          now.columns = list;
          show();
        },
        rows(list) {
          now.rows = [...now.rows, ...list];
          show();
        },
      });
      now.tag = end.tag;
      if (end.schema) learn().catch((e) => setFailed(problemOf(e)));
      if (end.left) setLeft(end.left);
    } catch (e) {
      const p = problemOf(e);
      setFailed(p);
      ed.current!.mark(p.position, p.message);
      if (now.columns.length > 0 && now.rows.length === 0) now.columns = [];
    }
    now.progress = "";
    show();
    busy.current = false;
    setRunning(false);
    setRan((n) => n + 1);
    explain();
  }, []);

  useEffect(() => {
    ed.current = editor(place.current!, kept.of(is.user), explain, run);
    (async () => {
      try {
        setLeft((await api.budget()).left);
        const s = await learn();
        for (const sql of examples(s)) {
          if (ed.current!.text() !== "") break;
          const works = (await api.explain(sql, 0)).lines?.some((l) => l.key === "Price");
          if (works && ed.current!.text() === "") ed.current!.replace(sql);
        }
        explain();
      } catch (e) {
        setFailed(problemOf(e));
      }
    })();
    return () => {
      kept.keep(is.user, ed.current!.text());
      clearTimeout(timer.current);
      ed.current!.view.destroy();
    };
  }, []);

  const logout = async () => {
    await api.logout().catch(() => {});
    ed.current!.replace("");
    leave("");
  };
  return (
    <>
      <header>
        <h1>dpsql</h1>
        <span>{is.database}</span>
        <span class="left" id="left" role="status">{left}</span>
        <span>{is.user}</span>
        <button onClick={logout}>Log out</button>
      </header>
      <div class="page">
        <Aside schema={schema} ran={ran} use={(text) => ed.current!.replace(text)} insert={(name) => {
          const v = ed.current!.view;
          v.dispatch(v.state.replaceSelection(name));
          v.focus();
        }} />
        <main>
          <div class="editor" ref={place} />
          <div class="actions">
            <button class="first" onClick={run} disabled={running}>Run</button>
            <button onClick={() => api.cancel().catch((e) => setFailed(problemOf(e)))} disabled={!running}>Cancel</button>
            <span class="said">Ctrl-Enter runs the statement at the cursor. Tab completes a word.</span>
            <span role="status">{running ? asked?.progress || "Running" : ""}</span>
          </div>
          <Price of={price} waits={running} />
          {failed && <Failure of={failed} old={old} />}
          {asked && <Answer of={asked} running={running} old={old} />}
        </main>
      </div>
    </>
  );
}

function App() {
  const [is, setIs] = useState<api.Login>();
  const [said, setSaid] = useState("");
  const [ready, setReady] = useState(false);
  const [followed, setFollowed] = useState<{ link: string; of: api.Link }>();
  useEffect(() => {
    api.onEnd((why) => {
      setIs(undefined);
      setSaid(sentence(why));
    });
    const link = new URLSearchParams(location.hash.slice(1)).get("link");
    if (!link) {
      setReady(true);
      return;
    }
    api.describeLink(link).then((of) => setFollowed({ link, of }), (e) => {
      history.replaceState(null, "", location.pathname);
      setSaid(sentence(problemOf(e)));
    }).finally(() => setReady(true));
  }, []);
  const enter = (l: api.Login) => {
    setFollowed(undefined);
    setIs(l);
  };
  const leave = (s: string) => {
    setSaid(s);
    setIs(undefined);
  };
  if (!ready) return null;
  if (followed) return <Followed link={followed.link} of={followed.of} done={enter} />;
  if (!is) return <Login done={enter} said={said} />;
  return is.owner ? <Owners is={is} left={leave} /> : <Page is={is} left={leave} />;
}

render(<App />, document.getElementById("app")!);
