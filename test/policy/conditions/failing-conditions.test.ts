import { expect, it } from 'vitest'
import { noTags } from '../../../src/policy/tags/object-tags.ts'
import { compileCondition, ConditionError, getEvaluator } from '../../../src/policy/conditions/condition.ts'
import { pending, type Fact } from '../../../src/policy/conditions/authorization-request.ts'
import { parsePolicies } from '../parse-policies.ts'
import {
  createAuthorizationRequest,
  createCaller,
  compilePolicySet,
  type RequestOverrides,
  type WrittenRule,
} from '../policy-builder.ts'

const principal = {
  ...createCaller('corp:alice', 'corp:sales'),
  method: 'token',
  issuer: 'corp',
  claims: { mfa: true, level: 3, roles: ['writer'], nested: { team: 'x' } },
} as const

const overrides: RequestOverrides = {
  request: {
    clientAddress: '10.1.2.3',
    now: new Date('2026-06-15T21:30:00Z'),
    context: new Map([
      ['env', 'prod'],
      ['until', '2026-12-31T00:00:00.123456789+01:00'],
      ['noZone', '2099-01-31T10:00:00.000'],
      ['noDay', '2099-02-30T00:00:00Z'],
    ]),
  },
  operation: {
    mode: 'overwrite',
    branch: 'ci/7',
    destination: ['a', 'b'],
    manifestPath: 's3://lake/sales/orders/_versions/x',
    metadata: new Map([['ticket', 'T-1']]),
  },
}
const authorizationRequest = createAuthorizationRequest(
  principal,
  'CreateTableVersion',
  'table',
  ['prod', 'orders'],
  overrides,
)

function evaluated(text: string): boolean | string {
  const condition = compileCondition(text)
  if (condition instanceof ConditionError) throw condition
  try {
    return getEvaluator(condition)({ ...authorizationRequest, tags: noTags })
  } catch {
    return 'fails'
  }
}

it.for([
  'client.address == "unknown"',
  'client.address != "192.0.2.7"',
  '!client.address.inCidr("192.0.2.0/24")',
])('a condition fails if the address of the caller is unknown: %s', (text) => {
  const unknown = createAuthorizationRequest(principal, 'QueryTable', 'table', ['prod', 'orders'], {
    request: { clientAddress: 'unknown' },
  })
  const condition = compileCondition(text)
  if (condition instanceof ConditionError) throw condition
  expect(() => getEvaluator(condition)({ ...unknown, tags: noTags })).toThrow('is unknown')
})

it.each([
  ['principal.name == "corp:alice" && principal.method == "token" && principal.issuer == "corp"', true],
  ['"corp:sales" in principal.groups', true],
  ['principal.groups.exists(g, g.startsWith("corp:"))', true],
  ['principal.claims.mfa == true && principal.claims.level >= 2', true],
  ['"writer" in principal.claims.roles && principal.claims.nested.team == "x"', true],
  ['principal.claims.mfa == "true"', false],
  ['principal.claims.other == "x"', 'fails'],
  ['has(principal.claims.other)', false],
  ['principal.claims.__proto__ != null', 'fails'],
  ['client.address.inCidr("10.0.0.0/8")', true],
  ['client.address.inCidr("10.1.2.4/32")', false],
  ['now > timestamp("2026-06-15T00:00:00Z") && now.getHours() == 21 && now.getDayOfWeek() == 1', true],
  ['now.getHours("Europe/Berlin") == 23 && now.getHours("-05:30") == 16 && now.getHours("UTC") == 21', true],
  ['now.getDayOfWeek("Asia/Tokyo") == 2 && now.getMinutes("Asia/Kolkata") == 0', true],
  ['duration("90m").getHours() == 1', true],
  ['now < timestamp(1893456000)', true],
  ['now - duration("1h30m") <= timestamp("2026-06-15T20:00:00.000000001Z")', true],
  ['now - timestamp("2026-06-15T21:00:00+00:00") == duration("1800s")', true],
  ['now < timestamp(context["until"])', true],
  ['now < timestamp(context["noZone"])', 'fails'],
  ['now < timestamp(context["noDay"])', 'fails'],
  ['now < timestamp(principal.claims.level)', 'fails'],
  ['now < timestamp(99999999999999)', 'fails'],
  ['now - timestamp(int(principal.claims.level)) > duration("15m")', true],
  ['context["env"] == "prod"', true],
  ['context["purpose"] == "x"', 'fails'],
  ['"purpose" in context && context["purpose"] == "x"', false],
  ['operation == "CreateTableVersion" && id == ["prod", "orders"]', true],
  ['mode == "overwrite" && behavior == "" && tag == ""', true],
  ['branch.like("ci/*") && !branch.like("*/8")', true],
  ['destination[0] == "a" && destination.size() == 2', true],
  ['destination[2] == "a"', 'fails'],
  ['manifestPath.isUnder("s3://lake/sales")', true],
  ['manifestPath.isUnder("s3://lake/sal")', false],
  ['metadata["ticket"].startsWith("T-") && properties.size() == 0', true],
  ['location.isUnder("s3://lake")', false],
])('evaluates %s to %s', (text, expected) => {
  expect(evaluated(text)).toBe(expected)
})

it.each([
  ['', 0, /unexpected token/],
  ['branch', 0, /is of type string; expected a comparison/],
  ['principal.claims.mfa', 0, /is of type dyn/],
  ['branch == 1', 0, /no such overload: string == int/],
  ['1 == 1 && brunch == "x"', 10, /unknown variable: brunch; did you mean "branch"\?/],
  ['principal.nam == "x"', 10, /no such key: nam; did you mean "name"\?/],
  ['branch.matches("(a+)+$")', 0, /unknown function "matches"; did you mean "like"\?/],
  ['principal.groups.map(g, g + g).size() > 0', 0, /unknown function "map"/],
  ['id.exists(a, id.exists(b, a != b))', 13, /only one loop is allowed/],
  [
    'now.getHours("Europe/Berln") > 3',
    13,
    /expected a time zone such as .*; did you mean "Europe\/Berlin"\?/,
  ],
  ['now.getHours("+0200") > 3', 13, /expected a time zone such as "Europe\/Berlin", "UTC" or "\+02:00"$/],
  ['now.getHours(context["zone"]) > 3', 13, /takes a time zone as one string literal, or nothing for UTC/],
  ['now.getHours(2) > 3', 13, /takes a time zone as one string literal/],
  ['duration("1h").getHours("UTC") > 3', 0, /no matching overload|no such overload|not found/i],
  [
    'now < timestamp("2027-02-30T00:00:00Z")',
    16,
    /^"2027-02-30T00:00:00Z" is not a timestamp: there is no time 2027-02-30/,
  ],
  ['now < timestamp("2027-01-01")', 16, /; expected for example 2027-01-01T00:00:00Z$/],
  ['now < timestamp("2027-01-31T10:00:00.000")', 16, /it has no zone/],
  ['now < timestamp("soon")', 16, /expected a time with zone/],
  ['now < timestamp(true)', 6, /no matching overload for 'timestamp\(bool\)'/],
  [
    'now - duration("1d") > timestamp(0)',
    15,
    /^"1d" is not a duration: .* such as "24h"; days have no unit$/,
  ],
  ['now - duration("1.5h") > timestamp(0)', 15, /expected whole numbers of h, m and s, such as "1h30m"/],
  ['now - duration("-") > timestamp(0)', 15, /is not a duration/],
  ['now - duration("1234567h") > timestamp(0)', 15, /is not a duration/],
  ['now - duration(context["age"]) < now', 15, /"duration" takes one string literal/],
  ['branch.like(tag)', 12, /takes one string literal/],
  ['client.address.inCidr("10.0.0.0/33")', 22, /is not an address range; expected for example/],
  ['client.address.inCidr("10.0.0.0")', 22, /is not an address range; expected for example/],
  ['location.isUnder("s3://lake/../x")', 17, /is not a folder; expected for example/],
  [`"${'x'.repeat(2000)}" == branch`, 0, /expected at most 2000/],
  [`${'('.repeat(200)}true${')'.repeat(200)}`, undefined, /./],
  [Array.from({ length: 300 }, () => 'true').join(' && '), undefined, /./],
])('rejects the condition %s', (text, index, message) => {
  const error = compileCondition(text)
  if (!(error instanceof ConditionError)) throw new Error('it is one')
  expect(error.message).toMatch(message)
  if (index !== undefined) expect(error.index).toBe(index)
})

it('reports an error with its place in the condition, on one line', () => {
  const rules = [{ id: 'r', effect: 'allow', subjects: { any: true }, operations: ['read'] }]
  const policy = {
    apiVersion: 'catalog-gateway/v1',
    kind: 'AccessPolicy',
    metadata: { name: 'p' },
    namespace: [],
  }
  const when = 'id[0] == "x"\n&& brunch == "y"'
  const text = JSON.stringify({ ...policy, rules: rules.map((one) => ({ ...one, when })) })
  expect(parsePolicies(text, 'p.yaml').problems.map(({ message }) => message)).toEqual([
    'rules[0].when: unknown variable: brunch; did you mean "branch"? (character 17)',
  ])
})

it('a failing condition disables an allow, enables a deny and is reported each time', () => {
  const failures: string[] = []
  const decide = (...rules: WrittenRule[]) =>
    compilePolicySet([{ name: 'p', namespace: [], rules }], (reference, effect, error) =>
      failures.push(`${reference.rule} ${effect} ${(error as { code: string }).code}`),
    ).decide(createAuthorizationRequest(createCaller('a'), 'QueryTable', 'table', ['t']))
  expect(decide(rule('allow'))).toMatchObject({ allowed: false, reason: 'no_rule' })
  const allow = { ...rule('allow'), id: 'all', when: 'true' }
  expect(decide(allow, rule('deny'))).toMatchObject({ reason: 'denied', rule: { rule: 'deny' } })
  expect(failures).toEqual(['allow allow no_such_key', 'deny deny no_such_key'])
})

function rule(effect: 'allow' | 'deny'): WrittenRule {
  return {
    id: effect,
    effect,
    subjects: { any: true },
    operations: ['read'],
    when: 'context["missing"] == "x"',
  }
}

it('a condition is open if a part of it fails and another reads a pending fact', () => {
  const readers = [{ ...rule('allow'), when: 'context["a"] == "b" || branch == "main"' }]
  const set = compilePolicySet([{ name: 'p', namespace: [], rules: readers }])
  const decide = (branch: Fact<string>) =>
    set.decidePartially(
      createAuthorizationRequest(createCaller('a'), 'QueryTable', 'table', ['t'], { operation: { branch } }),
    )?.allowed
  expect([decide(pending), decide('main'), decide('dev')]).toEqual([undefined, true, false])
})
