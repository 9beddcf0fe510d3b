import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parsePolicies } from '../../src/policy/documents.ts'
import type { PolicyDocument } from '../../src/policy/policy-document.ts'
import { usualPolicyReader } from '../../src/policy/usual-layout.ts'
import { isThorough } from '../thorough.ts'
import { mutated } from './written-yaml.ts'

/*
 * What is laid out as most policies are is read by patterns, and must come to what the reader of YAML makes of it, down
 * to each line. A comment behind the kind of a document, which moves nothing, has it read the other way.
 */

const numRuns = isThorough ? 2000 : 300

function readOtherwise(text: string): string {
  return text.replaceAll('kind: AccessPolicy\n', 'kind: AccessPolicy # otherwise\n')
}

/** What a text says; undefined where it has a fault: what is said of it then is no matter of the layout. */
function readingOf(text: string): readonly PolicyDocument[] | undefined {
  const { documents, problems } = parsePolicies(text, 'p.yaml')
  return problems.length === 0 ? documents : undefined
}

function isUsual(text: string): boolean {
  return usualPolicyReader(text, 'p.yaml')(0, text.length) !== undefined
}

/** One of those, and now and then something else. */
function mostly(usual: readonly string[], others: readonly string[]): fc.Arbitrary<string> {
  const [weight, rare] = [40, 1]
  return fc.oneof(
    { weight, arbitrary: fc.constantFrom(...usual) },
    { weight: rare, arbitrary: fc.constantFrom(...others) },
  )
}

const oddities = [
  'null',
  'True',
  '12',
  '1e3',
  'x y',
  'a:',
  'b#c',
  'a #c',
  '-b',
  '*x',
  'x*',
  '',
  '~',
  '"q"',
  "'q'",
  'é',
  ': ',
]
const label = mostly(
  ['p0', 'p1', 'r0', 'r1', 'team-1', 'x.y', 'a_b', 'Nullable'],
  [...oddities, 'corp:bob', 's3/x'],
)
const subject = mostly(['al', 'corp:bob', 'k-1', 's3/x', 'a.b', 'trues'], oddities)
const operation = mostly(['read', 'drop', 'QueryTable'], ['reed', 'null', '"read"'])
const condition = mostly(
  ['branch != "main"', `'"env" in context'`, '"env" in context', 'true'],
  ['branch != "x" # c', "'true' x", '| x', '1', 'x =='],
)

const ruleOf = fc.record({
  id: label,
  effect: mostly(['allow', 'deny'], ['both', '"allow"']),
  subjects: fc.uniqueArray(
    fc.tuple(mostly(['users', 'groups', 'keys'], ['any']), fc.array(subject, { minLength: 1, maxLength: 3 })),
    { maxLength: 3, minLength: 1, selector: ([kind]) => kind },
  ),
  operations: fc.array(operation, { minLength: 1, maxLength: 2 }),
  when: fc.option(condition),
})

const policyOf = fc.record({
  name: label,
  namespace: fc.array(label, { maxLength: 2 }),
  inherit: mostly(['', 'inherit: false\n', 'inherit: true\n'], ['onDeny: 404\n', 'inherit: maybe\n']),
  rules: fc.array(ruleOf, { minLength: 1, maxLength: 3 }),
  margin: fc.constantFrom('  ', '', '    '),
  // Of each list, whether it stands between brackets, and else how deep it stands.
  styles: fc.infiniteStream(fc.constantFrom('flow', '', '  ', '  ')),
})

type Policy = typeof policyOf extends fc.Arbitrary<infer Value> ? Value : never

function written({ name, namespace, inherit, rules, margin, styles }: Policy): string {
  const list = (items: readonly string[], outer: string): string => {
    const style = (styles.next() as { value: string }).value
    if (style === 'flow' || items.length === 0) return ` [${items.join(', ')}]`
    return items.map((item) => `\n${outer}${style}- ${item}`).join('')
  }
  const texts = rules.map(({ id, effect, subjects, operations, when }) => {
    const [[kind, names] = ['groups', []]] = subjects
    const isFlow = subjects.length === 1 && (styles.next() as { value: string }).value === 'flow'
    const lines = subjects.map(([kind, names]) => `\n${margin}    ${kind}:${list(names, `${margin}    `)}`)
    return (
      `${margin}- id: ${id}\n${margin}  effect: ${effect}\n` +
      `${margin}  subjects:${isFlow ? ` { ${kind}: [${names.join(', ')}] }` : lines.join('')}\n` +
      `${margin}  operations:${list(operations, `${margin}  `)}\n` +
      (when === null ? '' : `${margin}  when: ${when}\n`)
    )
  })
  return (
    `apiVersion: catalog-gateway/v1\nkind: AccessPolicy\nmetadata:\n  name: ${name}\n` +
    `namespace:${list(namespace, '')}\n${inherit}rules:\n${texts.join('')}`
  )
}

const folderOf = (maxLength: number) =>
  fc.array(policyOf, { minLength: 1, maxLength }).map((all) => all.map(written).join('---\n'))

it.each([
  ['as it is', folderOf(2)],
  // What is not damaged of it is still laid out as usual, where there is more.
  ['damaged', mutated(folderOf(4))],
])('reads what is laid out as usual as it reads the same laid out otherwise: %s', (_, texts) => {
  let usual = 0
  fc.assert(
    fc.property(texts, (text) => {
      if (text.split('---\n').some(isUsual)) usual++
      expect(readingOf(text)).toEqual(readingOf(readOtherwise(text)))
    }),
    { numRuns },
  )
  expect(usual).toBeGreaterThan(numRuns / 40)
})

const head =
  'apiVersion: catalog-gateway/v1\nkind: AccessPolicy\nmetadata:\n  name: p-1\nnamespace: [prod, sales]\n'
const rule = '  - id: r\n    effect: allow\n    subjects: { groups: [corp:a, b] }\n    operations: [read]\n'

it.each([
  ['lists between brackets', `${head}rules:\n${rule}`],
  [
    'lists on lines',
    `${head}rules:\n${rule.replace(' { groups: [corp:a, b] }', '\n      users:\n        - b\n      keys:\n      - k')}`,
  ],
  ['conditions', `${head}inherit: false\nrules:\n${rule}    when: branch != "main" && "x" in context\n`],
  ['the root', `${head.replace('[prod, sales]', '[]')}rules:\n${rule}${rule.replace('id: r', 'id: s')}`],
])('reads by patterns: %s', (_, text) => {
  expect(isUsual(text)).toBe(true)
  expect(parsePolicies(text, 'p.yaml')).toEqual(parsePolicies(readOtherwise(text), 'p.yaml'))
})

it.each([
  ['a comment', `${head}rules: # x\n${rule}`],
  ['a rule with more fields', `${head}rules:\n${rule}    tables: [a]\n`],
  [
    'a text that goes on in the next line',
    `${head}rules:\n${rule}    when: branch != "x" ||\n      branch == "y"\n`,
  ],
  [
    'a text that goes on behind an empty line',
    `${head}rules:\n${rule}    when: branch != "x" ||\n\n      branch == "y"\n`,
  ],
  [
    'a list that is not straight',
    `${head}rules:\n${rule.replace('[read]', '\n      - read\n       - drop')}`,
  ],
  [
    'rules that are not straight',
    `${head}rules:\n${rule} ${rule.replace('id: r', 'id: s').replaceAll('\n', '\n ')}`,
  ],
  [
    'a rule that ends the list',
    `${head}rules:\n${rule}${rule.replace('id: r', 'id: s').replaceAll(/^ {2}/gm, '')}`,
  ],
  [
    'names that are not straight',
    `${head}rules:\n${rule.replace(' { groups: [corp:a, b] }', '\n      groups:\n        - a\n         - b')}`,
  ],
  ['more behind a condition in quotes', `${head}rules:\n${rule}    when: 'true' x\n`],
  ['two rules of one id', `${head}rules:\n${rule}${rule}`],
  ['an unknown operation', `${head}rules:\n${rule.replace('read', 'reed')}`],
  ['a word that is no text', `${head}rules:\n${rule.replace('corp:a', 'null')}`],
  ['no rules', `${head}rules:\n`],
  ['more behind the rules', `${head}rules:\n${rule}tests: []\n`],
])('leaves to the reader of YAML: %s', (_, text) => {
  expect(isUsual(text)).toBe(false)
})

it('reads lists that are as long as a document may be', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `name-${index}`)
  const long = `${head}rules:\n${rule.replace('corp:a', names.join(', '))}`
  expect(isUsual(long)).toBe(true)
  expect(isUsual(`${long}${rule.replace('id: r', 'id: s').replace('b]', `${names.join(', ')}]`)}`)).toBe(
    false,
  )
  const [policy] = parsePolicies(long, 'p.yaml').documents
  expect(policy?.rules[0]?.subjects.groups).toHaveLength(20_001)
})
