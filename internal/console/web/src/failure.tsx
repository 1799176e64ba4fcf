import * as api from "./api";

export const problemOf = (e: unknown): api.Problem => (e instanceof api.Refused ? e.problem : { message: String(e) });

export function Failure({ of }: { of: api.Problem }) {
  return (
    <div class="error" role="alert">
      <p>{of.message}{of.code ? ` (${of.code})` : ""}</p>
      {of.detail && <p>{of.detail}</p>}
      {of.hint && <p>Hint: {of.hint}</p>}
    </div>
  );
}
