import { parseArgs } from 'node:util'
import { companions } from './companions.ts'
import { peers } from './peers.ts'
import { workloads } from './workloads.ts'

export interface BenchOptions {
  readonly workloads: readonly string[]
  readonly companions: readonly string[]
  readonly peers: readonly string[]
  /** Number of complete runs, each with restarted servers. */
  readonly runs: number
  readonly rounds: number
  readonly seconds: number
  readonly tokens: number
  /** Skips the warm-up. */
  readonly cold: boolean
  /** Folder for a CPU profile of the gateway. */
  readonly profile: string | undefined
  /** Whether to write `results.md`. */
  readonly write: boolean
}

const names = [...workloads, ...companions].map(({ name }) => name)

export const usage = `usage: npm run bench -- [options]

Measures the gateway and comparable servers in front of the same upstream, one after the other.

  --only NAME,...   ${names.slice(0, 6).join(', ')},
                    ${names.slice(6, 11).join(', ')},
                    ${names.slice(11).join(', ')}
  --peers NAME,...  ${peers.map(({ name }) => name).join(', ')}
  --runs N          complete runs with restarted servers; benchmarks of single parts run once; default 1
  --rounds N        measurements of each server, whose medians are printed; default 3
  --seconds N       duration of a measurement; default 2
  --tokens N        number of tokens of many-tokens; default 10000
  --quick           one round of a second and 1000 tokens; only runs those that --only names of ${names.slice(11).join(', ')}
  --cold            skips the warm-up; only to test the bench itself
  --profile FOLDER  writes a CPU profile of the gateway there
  --write           writes test/bench/results.md; not with --only and --quick, which would remove other results

The other servers and the load generator: apt-get install haproxy nginx wrk libnginx-mod-http-lua lua-luaossl lua-cjson
Missing programs are reported and skipped.
`

/** Parses the command line; undefined if it requests help. Throws TypeError or RangeError for invalid options. */
export function readOptions(parameters: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...parameters],
    options: {
      help: { type: 'boolean' },
      only: { type: 'string' },
      peers: { type: 'string' },
      runs: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      tokens: { type: 'string' },
      quick: { type: 'boolean', default: false },
      cold: { type: 'boolean', default: false },
      profile: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  })
  if (values.help === true) return undefined
  if (values.write && (values.quick || values.only !== undefined))
    throw new RangeError('--write is for all that is measured; expected neither --only nor --quick with it')
  const only = values.only === undefined ? undefined : listOf('--only', values.only, names)
  const peerNames = peers.map(({ name }) => name)
  const chosen = (all: readonly { readonly name: string }[]): readonly string[] =>
    all.map(({ name }) => name).filter((name) => only?.includes(name) ?? true)
  return {
    workloads: chosen(workloads),
    companions: values.quick && only === undefined ? [] : chosen(companions),
    peers: values.peers === undefined ? peerNames : listOf('--peers', values.peers, peerNames),
    runs: countOf('--runs', values.runs, 1),
    rounds: countOf('--rounds', values.rounds, values.quick ? 1 : 3),
    seconds: countOf('--seconds', values.seconds, values.quick ? 1 : 2),
    tokens: countOf('--tokens', values.tokens, values.quick ? 1_000 : 10_000),
    cold: values.cold,
    profile: values.profile,
    write: values.write,
  }
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
