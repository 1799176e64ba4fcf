// The endpoints of the owner's page.
import { ask } from "./api";

export interface Account {
  analyst?: string; // none: the data set, or a role
  role?: string;
}

interface Dataset {
  data_set: string;
  accounts: Account[];
}

// Words are those of dpsql budget show. Each account has a row.
interface Words {
  data_sets: { budget: string; columns: string[]; rows: string[][]; legend: string[] }[];
  lifetime: string;
  stops: string[];
}

export interface Budget {
  frozen: { analyst: string }[];
  stopped: { analyst: string }[];
  data_sets: Dataset[];
  words: Words;
}

export interface Forecast {
  analyst?: string; // neither: everybody together
  role?: string;
  ends: string | null;
  text: string;
  pace?: string;
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
  cut?: boolean;
  unread?: string;
}

export interface Filter {
  analyst: string;
  fingerprint: string;
  text: string;
}

interface Release {
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
  other_roles: string[];
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
