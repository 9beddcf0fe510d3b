import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Cores } from './cores.ts'
import type { BenchOptions } from './options.ts'
import type { Medians } from './report.ts'
import type { Servers } from './servers.ts'

export interface PageContext {
  readonly options: BenchOptions
  readonly servers: Servers
  /** Skipped servers with the reason. */
  readonly missing: ReadonlyMap<string, string>
  readonly before: MachineState
  readonly cores: Cores
  readonly wrk: string
}

/** Other load on the machine. */
export interface MachineState {
  /** Load average of the last minute. */
  readonly load: number
  /** Busy time of its cores since boot, and the time stolen by other guests of the host. */
  readonly busy: number
  readonly stolen: number
}

/** Of the first section that a whole run of the bench does not make. */
const headingOfOthers = '## TLS'
const root = fileURLToPath(new URL('../', import.meta.url))
const page = 'bench/results.md'

export function machineNow(): MachineState {
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = (
    readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  )
    .split(/\s+/)
    .slice(1)
    .map(Number)
  const busy = user + nice + system + interrupts + softInterrupts
  return { load: loadavg()[0] ?? 0, busy, stolen }
}

/**
 * Writes `bench/results.md` with the table, and the medians that later runs are compared with. Sections of companions and
 * the last one, which is written by hand, are preserved.
 */
export async function writePage(table: string, medians: Medians, context: PageContext): Promise<void> {
  const before = readFileSync(`${root}${page}`, 'utf8')
  const others = before.slice(before.indexOf(`\n${headingOfOthers}\n`))
  await writeFormatted(page, formatPage(table, context) + others)
  await writeFormatted('bench/medians.json', JSON.stringify(medians))
}

/** Replaces the first table of a section of `bench/results.md`, and all that follows it in the section. */
export async function writeSection(heading: string, result: string): Promise<void> {
  const before = readFileSync(`${root}${page}`, 'utf8')
  const start = before.indexOf(`\n## ${heading}\n`)
  const table = before.indexOf('\n|', start)
  const end = before.indexOf('\n## ', table)
  if (start === -1 || table === -1 || end === -1)
    throw new Error(`${page} has no section "${heading}" with a table, followed by another section`)
  const day = new Date().toISOString().slice(0, 10)
  const text = `${before.slice(0, table)}\n${result}\n\nMeasured on ${day}.\n${before.slice(end)}`
  await writeFormatted(page, text)
}

async function writeFormatted(file: string, text: string): Promise<void> {
  await writeFile(`${root}${file}`, text)
  await promisify(execFile)(`${root}node_modules/.bin/oxfmt`, [file], { cwd: root })
}

function formatPage(table: string, { options, servers, missing, before, cores, wrk }: PageContext): string {
  const after = machineNow()
  const stolen = (after.stolen - before.stolen) / (after.busy - before.busy + after.stolen - before.stolen)
  const machine = cpus()
  const measured = [servers.direct, ...servers.verified].map(
    ({ name, version, what }) => `- **${name}** (${version}): ${what}`,
  )
  const skipped = [...missing].map(([name, reason]) => `- **${name}** was skipped: ${reason}`)
  return `# Results of the bench

What a request costs, beside other proxies that check the same credentials and paths in front of the same upstream.
Written by \`npm run bench -- --write\` on ${new Date().toISOString().slice(0, 10)}.

${table}

Less is better in all rows. An empty cell means that the server cannot do this, or failed. Goals are for Node 24 and
newer, a fifth more is accepted on older versions; figures that miss them are bold. The other servers verify keys or tokens
and a rule by path, and write a log line per request. The gateway also applies policies, checks bodies, and audits changes
and refusals.

## Servers

${[...measured, ...skipped].join('\n')}

## Method

- Machine: ${machine[0]?.model.trim()}, ${machine.length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release().split('-')[0]}.
  ${cores.server === undefined ? 'Nothing is bound to a core.' : 'Servers run on one core; upstream and load share the others.'}
- Small calls are sent by wrk ${wrk} over 32 connections: ListTableVersions of a hundred tables in turn with a key,
  QueryTable with JSON and an RS256 token. Large bodies are sent and read by a client on Node over four connections.
- Medians of ${options.rounds} rounds of ${options.seconds} s; in a round, servers are measured in turn. Before each measurement, a server gets a download
  and an upload of 64 MiB, and 600 new connections with a refused request each.
- CPU is the time of the server process with all its threads and children.
- The gateway has the \`NODE_OPTIONS\` of the image, which bound the young generation of V8.
- The memory under small calls is that of a server that has had nothing else since its start.
- Before, each server is verified: it forwards bytes unchanged, with a length and in chunks of up to 100 MiB, with fast
  and slow peers; it responds with 401 and 403 as required; and neither \`..\` nor \`%24\` changes what is allowed.
- \`direct\` is the latency without a server in between, which is the floor of the measurement.
- Load average of the machine: ${before.load.toFixed(1)} before, ${after.load.toFixed(1)} at the end; about 2 is the load of the benchmark itself.
  ${Math.round(stolen * 100)} % of the busy time of the cores was steal time of other guests of the host. If either is high, compare ratios only.
`
}
