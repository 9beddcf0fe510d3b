import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/support/free-port.ts'
import { makeCallers } from '../callers.ts'
import { writeGatewaySettings } from '../peers/gateway-settings.ts'
import { processorMicroseconds } from '../process-cost.ts'
import { startServer } from '../server-process.ts'
import type { Cost, Growth } from './growth.ts'

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const repetitions = 10

/** Tables of one namespace, listed through a gateway. The upstream has pages of at most a thousand names. */
export const listings: Growth = {
  unit: 'tables in a namespace',
  sizes: [1_000, 10_000, 100_000],
  shortSizes: [10_000, 40_000],
  async measure(size, folder) {
    const upstream = await startCatalog(size)
    const callers = await makeCallers(folder, 1)
    const rule = { id: 'readers', effect: 'allow', subjects: { any: true }, operations: ['read'] } as const
    const policies = [
      { name: 'all', namespace: ['all'], rules: [rule] },
      {
        name: 'ten',
        namespace: ['ten'],
        rules: [{ ...rule, tables: [`table-${String(size / 10).slice(0, -1)}*`] }],
      },
    ]
    const port = await freePort()
    const file = await writeGatewaySettings(
      { folder, upstreamPort: upstream.port, callers },
      { listen: { port }, admin: { port: 0 } },
      policies,
    )
    const command = [process.execPath, program, 'serve', '--config', file] as const
    const server = await startServer({ name: 'listings', folder, command, port, core: undefined })

    async function list(namespace: string, query: string): Promise<ListedPage> {
      const url = `http://127.0.0.1:${port}/v1/namespace/${namespace}/table/list?${query}`
      const response = await fetch(url, { headers: { 'x-api-key': callers.apiKey } })
      if (response.status !== 200)
        throw new Error(`unexpected status ${response.status}: ${await response.text()}`)
      return (await response.json()) as ListedPage
    }

    async function measurePages(what: string, namespace: string, limit: number): Promise<readonly Cost[]> {
      await list(namespace, `limit=${limit}`)
      const [before, calls] = [processorMicroseconds(server.pid), upstream.calls()]
      let token = ''
      for (let page = 0; page < repetitions; page += 1) {
        const { page_token: next = '' } = await list(
          namespace,
          `limit=${limit}${token && `&page_token=${token}`}`,
        )
        token = encodeURIComponent(next)
      }
      const spent = (processorMicroseconds(server.pid) - before) / 1_000
      return [
        { what, amount: spent / repetitions, unit: 'ms' },
        { what, amount: (upstream.calls() - calls) / repetitions, unit: 'calls' },
      ]
    }

    try {
      return [
        ...(await measurePages('a page of 100', 'all', 100)),
        ...(await measurePages('a page of all, at most 10,000', 'all', 10_000)),
        ...(await measurePages('a page for a caller who sees a few', 'ten', 100)),
      ]
    } finally {
      await server.stop()
      upstream.close()
    }
  },
}

interface ListedPage {
  readonly tables: readonly string[]
  readonly page_token?: string
}

/** A catalog whose namespaces all have the same tables. */
async function startCatalog(size: number) {
  const names = Array.from(
    { length: size },
    (_, index) => `table-${String(index).padStart(String(size).length - 1, '0')}`,
  )
  let calls = 0
  const server = createServer((request, response) => {
    request.resume()
    const { searchParams } = new URL(request.url ?? '', 'http://localhost')
    const start = Number(searchParams.get('page_token') ?? 0)
    const end = start + Math.min(1_000, Number(searchParams.get('limit') ?? 1_000))
    calls += 1
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ tables: names.slice(start, end), ...(end < size && { page_token: String(end) }) }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    calls: () => calls,
    close: () => server.close().closeAllConnections(),
  }
}
