import { startScript, type Program } from './built-program.ts'
import type { RunningDev } from './running-dev.ts'

export type WriterClient = 'catalog' | 'remote'

/** An appended row: the number of its writer, and its own number. */
export interface AppendedRow {
  readonly writer: number
  readonly number: number
}

/** Starts a process that appends rows to a table one by one once it is triggered. */
export async function startWriter(
  dev: RunningDev,
  client: WriterClient,
  table: readonly [namespace: string, name: string],
  { writer, count }: { writer: number; count: number },
): Promise<Program> {
  const parameters = [client, dev.url, dev.key, ...table, String(writer), String(count)]
  const program = startScript(new URL('appending-process.ts', import.meta.url), parameters)
  await program.announced(/^(ready)$/m)
  return program
}

/** Starts a process for each client, triggers all of them at once, and waits until all have finished. */
export async function appendConcurrently(
  dev: RunningDev,
  clients: readonly WriterClient[],
  table: readonly [namespace: string, name: string],
  count: number,
): Promise<AppendedRow[]> {
  const writers = await Promise.all(
    clients.map((client, writer) => startWriter(dev, client, table, { writer, count })),
  )
  for (const writer of writers) writer.write('go\n')
  for (const { ended } of writers) {
    const { status, messages } = await ended
    if (status !== 0) throw new Error(`a writer failed:\n${messages}`)
  }
  return clients.flatMap((_, writer) => Array.from({ length: count }, (_, number) => ({ writer, number })))
}

export function inOrder(rows: readonly AppendedRow[]): AppendedRow[] {
  return rows
    .map(({ writer, number }) => ({ writer, number }))
    .toSorted((a, b) => a.writer - b.writer || a.number - b.number)
}
