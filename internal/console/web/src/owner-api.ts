// The endpoints of the owner's page.
import { ask } from "./api";

export interface Account {
  analyst?: string; // none: the data set, or a role
  role?: string;
  used: number;
  quota: number | null;
  granted: number;
  pure_spent: number | null;
  pure_left: number | null;
  renyi_spent: number | null;
  renyi_left: number | null;
  delta_spent: number;
  delta_left: number;
  statements: number;
  statements_left: number;
  failures: number;
  ended: boolean;
}

export interface Dataset {
  data_set: string;
  epsilon: number;
  delta: number;
  accountant: string;
  per?: string;
  window_start: string | null;
  window_end: string | null;
  renews_at: string | null;
  so_far: { epsilon: number; delta: number };
  note?: string;
  accounts: Account[];
}

export interface Budget {
  people: string;
  lifetime: { epsilon: number | null; spent_epsilon: number; spent_delta: number; charged_windows: number };
  frozen: { analyst: string; by: string; since: string }[];
  stopped: { analyst: string; data_set: string; since: string }[];
  data_sets: Dataset[];
}

export interface Forecast {
  analyst: string; // "": everybody together
  since: string;
  ends: string | null;
}

export interface OverTime {
  curves: { name: string; points: { X: number; Y: number }[] }[];
  forecasts: Forecast[];
}

export interface Charge {
  charge: number;
  time: string;
  analyst: string;
  statement: string;
  price: number;
  text?: string;
  unread?: string;
}

export interface Filter {
  analyst: string;
  fingerprint: string;
  text: string;
}

export interface Release {
  charge: number;
  statement: string;
  analyst: string;
  price: number;
  made: string;
  expires: string;
  bytes: number;
}

export interface Analyst {
  name: string;
  epsilon: number;
  max_price: number;
  roles: string[];
  tables: { name: string; columns: string[] }[] | null;
}

export interface State {
  health: string;
  running: { analyst: string; client: string; since: string; text: string }[];
  ended: { time: string; analyst: string; outcome: string; error?: string; statement: string; charge?: number }[];
}

export const budget = () => ask<Budget>("owner/budget");
export const overTime = () => ask<OverTime>("owner/history");
export const statements = (f: Filter, before: number) =>
  ask<{ charges: Charge[] | null; next?: number }>("owner/statements", { ...f, fingerprint: f.fingerprint.trim().toLowerCase(), before });
export const releases = () => ask<Release[]>("owner/releases");
export const analysts = () => ask<Analyst[]>("owner/analysts");
export const state = () => ask<State>("owner/state");
export const freeze = (analyst: string, lift: boolean) => ask<Budget>(lift ? "owner/unfreeze" : "owner/freeze", { analyst });
