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

Measures the gateway beside other servers that do the same, in front of one upstream, in turn.

  --only NAME,...   ${names.slice(0, 6).join(', ')},
                    ${names.slice(6, 11).join(', ')},
                    ${names.slice(11).join(', ')}
  --peers NAME,...  ${peers.map(({ name }) => name).join(', ')}
  --runs N          does all of it so often, with servers started anew, and what belongs to no server once; 1 unless told
  --rounds N        measurements of each, of which medians are printed; 3 unless told
  --seconds N       for each measurement; 2 unless told
  --tokens N        that many-tokens sends in turn; 10000 unless told
  --quick           one round of a second, 1000 tokens, and only what --only names of ${names.slice(11).join(', ')}
  --cold            does not warm up first: only to try the bench itself
  --profile FOLDER  writes a CPU profile of the gateway there
  --write           writes test/bench/results.md; not with --only and --quick, as nothing else of it would be left

The other servers and what sends the load: apt-get install haproxy nginx wrk libnginx-mod-http-lua lua-luaossl lua-cjson
What is not there is named and left out.
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
