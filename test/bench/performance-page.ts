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

const root = fileURLToPath(new URL('../../', import.meta.url))

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

/** Writes `docs/performance.md` with the table, and the medians that later runs are compared with. */
export async function writePage(table: string, medians: Medians, context: PageContext): Promise<void> {
  const files = ['docs/performance.md', 'test/bench/medians.json']
  await writeFile(`${root}${files[0]}`, formatPage(table, context))
  await writeFile(`${root}${files[1]}`, JSON.stringify(medians))
  await promisify(execFile)(`${root}node_modules/.bin/oxfmt`, files, { cwd: root })
}

function formatPage(table: string, { options, servers, missing, before, cores, wrk }: PageContext): string {
  const after = machineNow()
  const stolen = (after.stolen - before.stolen) / (after.busy - before.busy + after.stolen - before.stolen)
  const machine = cpus()
  const measured = [servers.direct, ...servers.verified].map(
    ({ name, version, what }) => `- **${name}** (${version}): ${what}`,
  )
  const skipped = [...missing].map(([name, reason]) => `- **${name}** was skipped: ${reason}`)
  return `# Performance

What a request costs, beside other proxies that check the same credentials and paths in front of the same upstream.
Written by \`npm run bench -- --write\` on ${new Date().toISOString().slice(0, 10)}.

${table}

Less is better in all rows. An empty cell means that the server cannot do this, or failed. Goals are for Node 24 and
newer, a fifth more is accepted on older versions; figures that miss them are bold. The other servers verify keys or tokens
and a rule by path, and write a log line per request. The gateway also applies policies, checks bodies, and audits changes
and refusals.

## Servers

${[...measured, ...skipped].join('\n')}

## What bounds it

Measured in three runs in November 2026, on Node 24 unless stated otherwise:

- **Small calls:** two fifths of the CPU time are system calls for two sockets and the log, about as much as in HAProxy. The
  rest is spread over the sockets of Node and all stages: no function of the gateway takes more than 2.5 %.
- **Refusals:** a quarter of the CPU time is the audit log, which links each refusal to the record before it by its hash. No
  other server here audits.
- **1,000 connections:** Node accepts one connection per tick. After other workloads, the last of a thousand new ones
  wait up to half a second longer on Node 20 and 22; in repetitions of this workload alone, p99 is 75 to 230 ms there.
- **Beside bulk:** upstream and load share one core. Without a server in between, p99 is 34 to 44 ms beside downloads and 9 to
  11 ms beside uploads, and that of one server changes by a factor of two to three from run to run.
- **Memory:** a gateway that has just started has 118 (Node 20) to 136 MB (Node 24), of which 40 to 55 MB are Node itself. After
  a collection, 35 MB of objects are alive. The rest is garbage, which V8 collects late on a machine with much memory. In a
  container with the limit of the chart, 1 GiB, it collects earlier: 143 (Node 20) and 173 MB (Node 24) under small calls, 161
  and 202 MB after bulk.
- **Growth:** none. In half an hour of all kinds of requests at once (\`npm run bench -- --only soak\`, 3,200,000 requests), the
  memory fell from 224 to 164 MB on Node 20, from 328 to 202 MB on 22, from 350 to 228 MB on 24, and from 282 to 219 MB on 26.

## Method

- Machine: ${machine[0]?.model.trim()}, ${machine.length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release().split('-')[0]}.
  ${cores.server === undefined ? 'Nothing is bound to a core.' : 'Servers run on one core; upstream and load share the others.'}
- Small calls are sent by wrk ${wrk} over 32 connections: ListTableVersions of a hundred tables in turn with a key,
  QueryTable with JSON and an RS256 token. Large bodies are sent and read by a client on Node over four connections.
- Medians of ${options.rounds} rounds of ${options.seconds} s; in a round, servers are measured in turn. Before each measurement, a server gets a download
  and an upload of 64 MiB, and 600 new connections with a refused request each.
- CPU is the time of the server process with all its threads and children.
- The gateway has the \`NODE_OPTIONS\` of the image, which bound the young generation of V8 to twice 8 MiB. Node sizes
  it by the memory of the machine otherwise: Node 24 then needs 90 to 110 MB more here, and up to a tenth less CPU. Node 20
  needs 20 to 40 MB more with its default of 16 MiB, and a tenth less CPU for small calls.
- The memory under small calls is that of a server that has had nothing else since its start.
- Before, each server is verified: it forwards bytes unchanged, with a length and in chunks of up to 100 MiB, with fast
  and slow peers; it responds with 401 and 403 as required; and neither \`..\` nor \`%24\` changes what is allowed.
- \`direct\` is the latency without a server in between, which is the floor of the measurement.
- Load average of the machine: ${before.load.toFixed(1)} before, ${after.load.toFixed(1)} at the end; about 2 is the load of the benchmark itself.
  ${Math.round(stolen * 100)} % of the busy time of the cores was steal time of other guests of the host. If either is high, compare ratios only.
`
}
