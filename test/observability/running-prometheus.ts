import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { chartFile } from './chart-files.ts'
import { freePort } from '../support/free-port.ts'
import { eventually } from '../support/eventually.ts'

interface Found {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

/** A Prometheus that scrapes one gateway, with the alerts of the chart. */
export interface RunningPrometheus {
  /** Calls its API; throws with its error message. */
  get<Data>(path: string, parameters?: Readonly<Record<string, string>>): Promise<Data>
  query(expr: string): Promise<readonly Found[]>
  close(): Promise<void>
}

/** Starts Prometheus on a free port; resolves when it has scraped that admin port. */
export async function startPrometheus(adminUrl: string): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'prometheus-'))
  const file = join(folder, 'prometheus.yml')
  await writeFile(file, await settingsFor(new URL(adminUrl).host))
  const port = await freePort()
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    { stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  const prometheus: RunningPrometheus = {
    async get<Data>(path: string, parameters: Readonly<Record<string, string>> = {}) {
      const url = `http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`
      const { body } = await request(url)
      const { data, error } = (await body.json()) as { data: Data; error?: string }
      if (error !== undefined) throw new Error(`${path} ${JSON.stringify(parameters)}: ${error}`)
      return data
    },
    query: async (query) => (await prometheus.get<{ result: Found[] }>('query', { query })).result,
    async close() {
      child.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
  try {
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error('Prometheus did not start')
      const [up] = await prometheus.query('up == 1')
      if (up === undefined) throw new Error('nothing has been scraped yet')
    })
  } catch (error) {
    await prometheus.close()
    throw error
  }
  return prometheus
}

/** The configuration of docs/observability.md, with that target, the path of the rules and shorter intervals. */
async function settingsFor(target: string): Promise<string> {
  const page = await readFile(new URL('../../docs/observability.md', import.meta.url), 'utf8')
  const [, shown = ''] = /```yaml prometheus\n(.*?)```/s.exec(page) ?? []
  return shown
    .replace('127.0.0.1:2334', target)
    .replace('alerts.yaml', chartFile('alerts.yaml'))
    .replaceAll(': 5s', ': 500ms')
}
