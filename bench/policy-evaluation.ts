import { permissionNames } from '../src/catalog-api/permissions.ts'
import { parsePolicies } from '../test/policy/parse-policies.ts'
import type { AuthorizationRequest } from '../src/policy/conditions/authorization-request.ts'
import { compilePolicies } from '../src/policy/policy-set.ts'
import { loadTimes } from './policy-load.ts'
import {
  createAuthorizationRequest,
  createCaller,
  formatPolicies,
  type WrittenPolicy,
  type WrittenRule,
} from '../test/policy/policy-builder.ts'

/*
 * Measures the cost of a decision by the number of policies: one policy at the root, one per team, and one per project,
 * so that three policies apply to every table regardless of the total. One rule in twelve denies, one in five has a
 * condition. Prints medians of samples of 20 decisions, with the rounds of all sizes interleaved: for requests on
 * random namespaces, whose policies are mostly not in CPU caches, and for requests on ten of them. Each request is
 * created just before its decision, as in the gateway. First prints the time to load the largest set from a folder, in
 * a fresh process and again.
 */

const sizes = [10, 1000, 10_000]
const rounds = 7
const samples = 2000
const decisionsInSample = 20

const random = generator(7)
const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
const groups = Array.from({ length: 200 }, (_, index) => `group-${index}`)
const callers = Array.from({ length: 300 }, (_, index) =>
  createCaller(`user-${index}`, ...Array.from({ length: 6 }, () => pick(groups))),
)
const conditions = ['branch != "main"', 'client.address.inCidr("192.0.2.0/24")', '"env" in context']

console.log(`loading ${Math.max(...sizes)} policies: milliseconds, the least and the median`)
console.table([
  ...(await loadTimes(1, policiesOf(Math.max(...sizes), 1))),
  ...(await loadTimes(3, policiesOf(Math.max(...sizes)))),
])

const measured = sizes.flatMap((size) => {
  const policies = policiesOf(size)
  const text = formatPolicies(policies)
  const startedAt = performance.now()
  const { documents } = parsePolicies(text, 'policies.yaml')
  const parsedAt = performance.now()
  const set = compilePolicies(documents)
  const compiledAt = performance.now()
  const few = Array.from({ length: 10 }, () => pick(policies))
  return [policies, few].map((choices) => ({
    size,
    namespaces: choices.length,
    set,
    choices,
    parseMs: parsedAt - startedAt,
    compileMs: compiledAt - parsedAt,
    medians: [] as number[],
    high: [] as number[],
  }))
})

for (let round = 0; round < rounds; round++) {
  for (const { set, choices, medians, high } of measured) {
    const times: number[] = []
    for (let sample = 0; sample < samples; sample++) {
      const requests = Array.from({ length: decisionsInSample }, () => requestOn(choices))
      const startedAt = process.hrtime.bigint()
      for (const request of requests) set.decide(request)
      times.push(Number(process.hrtime.bigint() - startedAt) / decisionsInSample / 1000)
    }
    times.sort((one, other) => one - other)
    medians.push(times[Math.floor(times.length / 2)] ?? 0)
    high.push(times[Math.floor(times.length * 0.99)] ?? 0)
  }
}

console.table(
  measured.map(({ size, namespaces, parseMs, compileMs, medians, high }) => ({
    policies: size,
    'namespaces asked about': namespaces,
    'parse ms': rounded(parseMs),
    'compile ms': rounded(compileMs),
    'decision us, median': rounded(Math.min(...medians)),
    'decision us, p99': rounded(Math.min(...high)),
    'times that of the fewest': rounded(Math.min(...medians) / Math.min(...(measured[0]?.medians ?? []))),
  })),
)

function policiesOf(size: number, rules = 3): readonly WrittenPolicy[] {
  const teams = Math.max(3, Math.round(size / 100))
  return Array.from({ length: size }, (_, index) => {
    const team = `team-${index % teams}`
    const namespace = index === 0 ? [] : index <= teams ? [team] : [team, `project-${index}`]
    return {
      name: `policy-${index}`,
      namespace,
      rules: Array.from({ length: rules }, (_, rule) => ruleOf(`rule-${rule}`)),
    }
  })
}

function ruleOf(id: string): WrittenRule {
  return {
    id,
    effect: random() < 1 / 12 ? 'deny' : 'allow',
    subjects: { groups: Array.from({ length: 3 }, () => pick(groups)) },
    operations: [pick(['read', 'write', 'commit', 'admin', 'drop', 'QueryTable'])],
    ...(random() < 1 / 5 && { when: pick(conditions) }),
  }
}

function requestOn(policies: readonly WrittenPolicy[]): AuthorizationRequest {
  const { namespace } = pick(policies)
  const reported = { operation: { branch: pick(['main', 'ci/7']) } }
  return createAuthorizationRequest(
    pick(callers),
    pick(permissionNames),
    'table',
    [...namespace.map(copyOf), 'inner', 'orders'],
    reported,
  )
}

/** The same text at another memory address. */
function copyOf(text: string): string {
  return Buffer.from(text).toString()
}

/** Deterministic pseudo-random numbers from 0 to 1 (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
