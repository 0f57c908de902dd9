/**
 * An audit of every row that a gateway's connection writes: the process of the server that served
 * the connection, and the lease's number of that moment. The audit is the test's own schema and no
 * part of the product's tables; a transaction that is undone leaves nothing in it.
 */
import type { DatabasePlaces } from "./pair.ts";

type AskedDatabase = Pick<DatabasePlaces, "ask">;

/**
 * Every gateway's own row, which each of them writes at any time, is left out, and the lease's own
 * row too: a holder's number is that of its other rows.
 */
const setUp = `
CREATE SCHEMA drill;
CREATE TABLE drill.writes (process bigint, token bigint, at timestamptz, relation text);
CREATE FUNCTION drill.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
  INSERT INTO drill.writes SELECT pg_backend_pid(), l.token, clock_timestamp(), TG_TABLE_NAME
    FROM public.leases l WHERE l.name = 'gateway';
  RETURN NULL;
END $$;
DO $$ DECLARE one text; BEGIN
  FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
      AND tablename NOT IN ('gateways', 'leases') LOOP
    EXECUTE format('CREATE TRIGGER drill AFTER INSERT OR UPDATE OR DELETE ON public.%I
      FOR EACH STATEMENT EXECUTE FUNCTION drill.note()', one);
  END LOOP;
END $$;`;

export function beginAudit(places: AskedDatabase): void {
  for (const statement of setUp.trim().split(/;\n(?=CREATE|DO)/)) places.ask(statement);
}

/** The lease's number now. */
export function readToken(places: AskedDatabase): number {
  const [row] = places.ask("SELECT token FROM leases WHERE name = 'gateway'");
  return Number(row?.token);
}

/** The server's process that serves the active gateway; null if it wrote nothing lately. */
export function findWriter(places: AskedDatabase, token: number): number | null {
  const [row] = places.ask(
    `SELECT process FROM drill.writes WHERE token = ${token} GROUP BY process ORDER BY count(*) DESC LIMIT 1`,
  );
  return row === undefined ? null : Number(row.process);
}

/** How many statements of a server's process left rows under a later number than its own. */
export function countLateWrites(places: AskedDatabase, process: number, token: number): number {
  const [row] = places.ask(
    `SELECT count(*) AS late FROM drill.writes WHERE process = ${process} AND token > ${token}`,
  );
  return Number(row?.late);
}

/** Forgets what was looked at. */
export function emptyAudit(places: AskedDatabase): void {
  places.ask("DELETE FROM drill.writes");
}
