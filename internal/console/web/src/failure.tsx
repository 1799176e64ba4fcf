import * as api from "./api";

export const problemOf = (e: unknown): api.Problem => (e instanceof api.Refused ? e.problem : { message: String(e) });

// sentence is what is wrong and what to do, in a line.
export const sentence = (p: api.Problem) => [p.message, p.hint].filter(Boolean).join(". ");

export function Failure({ of, old }: { of: api.Problem; old?: boolean }) {
  return (
    <div class="error" role="alert">
      {old && <p class="said">This is the error of what was in the editor before.</p>}
      <p>{of.message}{of.code ? ` (${of.code})` : ""}</p>
      {of.detail && <p>{of.detail}</p>}
      {of.hint && <p>Hint: {of.hint}</p>}
    </div>
  );
}
