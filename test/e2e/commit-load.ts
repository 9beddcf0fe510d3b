import { tableToIPC, Table, vectorFromArray, Int32 } from 'apache-arrow'
import type { RunningDev } from './running-dev.ts'

/** The requests that clients have sent, and the responses. */
export interface CommitLoad {
  /** The items sent per object: rows of tables by number, and namespaces by name. */
  readonly sent: Map<string, Set<string>>
  readonly acknowledged: { readonly object: string; readonly item: string; readonly request: string }[]
  /** Resolves when the milestone is reached. */
  readonly reached: Promise<void>
  /** Resolves when every client has stopped: everything was sent, or a request failed. */
  readonly ended: Promise<PromiseSettledResult<void>[]>
}

export const loadedNamespace = 'load'

/**
 * Sends that many commits in total, as fast as several concurrent clients can: each of the existing tables gets single
 * rows, and one client per table creates namespaces. `reached` resolves once `milestone` of them are acknowledged.
 */
export function startCommitLoad(
  dev: RunningDev,
  tables: readonly string[],
  { commits, milestone }: { commits: number; milestone: number },
): CommitLoad {
  const sentItems = new Map<string, Set<string>>()
  const acknowledged: CommitLoad['acknowledged'][number][] = []
  let reach: (() => void) | undefined
  const reached = new Promise<void>((resolve) => (reach = resolve))
  let left = commits
  const client = async (object: string, send: (item: number) => Promise<Response>): Promise<void> => {
    const sent = new Set<string>()
    sentItems.set(object, sent)
    for (let item = 0; left > 0; item += 1) {
      left -= 1
      sent.add(String(item))
      const response = await send(item)
      await response.arrayBuffer()
      if (response.status !== 200) throw new Error(`${object} ${item}: ${response.status}`)
      const request = response.headers.get('x-request-id') ?? ''
      acknowledged.push({ object, item: String(item), request })
      if (acknowledged.length === milestone) reach?.()
    }
  }
  const clients = tables.flatMap((table) => [
    client(table, (item) => insertRow(dev, table, item)),
    client(`namespaces-of-${table}`, (item) =>
      dev.send('POST', `/v1/namespace/${loadedNamespace}$namespaces-of-${table}-${item}/create`, {}),
    ),
  ])
  return { sent: sentItems, acknowledged, reached, ended: Promise.allSettled(clients) }
}

function insertRow(dev: RunningDev, table: string, number: number): Promise<Response> {
  const row = new Table({ number: vectorFromArray([number], new Int32()) })
  return dev.send('POST', `/v1/table/${loadedNamespace}$${table}/insert`, tableToIPC(row, 'stream'), {
    'content-type': 'application/vnd.apache.arrow.stream',
  })
}

export async function createLoadedTables(dev: RunningDev, tables: readonly string[]): Promise<void> {
  const empty = tableToIPC(new Table({ number: vectorFromArray([-1], new Int32()) }), 'stream')
  for (const table of tables) {
    const response = await dev.send('POST', `/v1/table/${loadedNamespace}$${table}/create`, empty, {
      'content-type': 'application/vnd.apache.arrow.stream',
    })
    if (!response.ok) throw new Error(await response.text())
  }
}
