import type { Random } from './random.ts'

/** The one namespace in which the attacker may do everything; all else is forbidden. */
export const allowedNamespace = 'sandbox'

/** What the attacker knows of the forbidden part, and tries to reach. */
export const forbiddenTable = ['production', 'orders'] as const

/** What stands in the forbidden part of the catalog, and no request says: it must be in no answer. */
export const secrets = {
  table: 'hidden_7c1e5ab2',
  namespace: 'unseen_93d04f6e',
  property: 'private_e62b08d1',
} as const

/** An id that the attacker is allowed, and some that are nothing but odd. */
export function allowedId(random: Random, kind: string): readonly string[] {
  if (kind === 'namespace')
    return random.pick([[allowedNamespace], [allowedNamespace, 'inner'], [allowedNamespace, 'n']])
  const name = random.chance(0.7) ? random.pick(['orders', 'events']) : random.pick(oddNames)
  return random.chance(0.8) ? [allowedNamespace, name] : [allowedNamespace, 'inner', name]
}

/** An id outside of what is allowed, the root among them. */
export function forbiddenId(random: Random, kind: string): readonly string[] {
  if (kind === 'namespace') return random.pick([[], ['production'], ['production', 'inner'], ['Sandbox']])
  return random.pick([
    forbiddenTable,
    ['production', 'inner', 'orders'],
    ['orders'],
    ['SANDBOX', 'orders'],
    ['sandbox ', 'orders'],
  ])
}

const oddNames = [
  'a b',
  'a+b',
  'a.b',
  'a;b',
  'a:b@c',
  'ä',
  'ﬁ＄',
  '...',
  '~',
  'version',
  'index',
  'list',
  'x!*()',
  '\u{1f600}',
  '-',
  'a&b=c',
  '__proto__',
]
