import {
  destinationPermission,
  getOperation,
  type Operation,
  operationNames,
  type Permission,
} from '../../../catalog-api/index.ts'

/** Where permissions are needed: on what the rule is about, on something else, or at the root. */
export type Place = 'own' | 'other' | 'root'

/** A way around a rule. */
export interface Way {
  /** All permissions are needed, those of one place on one object. */
  readonly needs: readonly (readonly [place: Place, ...permissions: readonly Permission[]])[]
  readonly effect?: string
}

const operations = operationNames.map(getOperation)
const tableOperations = operations.filter(({ object }) => object === 'table')

/** Lists the operations whose requests state a fact. */
function listStating(fact: string, among: readonly Operation[] = operations): readonly Permission[] {
  return among.filter(({ facts }) => facts.some(([name]) => name === fact)).map(({ name }) => name)
}

/** Removing or overwriting a table and creating it again replaces it with every branch. */
export const waysAroundBranches: readonly Way[] = [
  ...tableOperations.filter(({ removesName }) => removesName).map(({ name }) => name),
  'OverwriteTable' as const,
].flatMap((remove) =>
  tableOperations
    .filter(({ versions }) => versions === 'restart')
    .map(({ name }): Way => ({ needs: [['own', remove, name]] })),
)

const changingTables = tableOperations.filter(({ effect }) => effect === 'change')

/** Ways to use the content of a table that a deny of tables does not cover. */
export const waysAroundTables: readonly Way[] = [
  ...listStating('location', changingTables).map((name): Way => ({
    needs: [['other', name, 'ChooseLocation']],
    effect: 'gives its location another name',
  })),
  ...listStating('manifestPath').map((name): Way => ({
    needs: [['other', name]],
    effect: 'commits its files to another table',
  })),
  { needs: [['root', 'ReadAnyTable']], effect: 'copies it by SQL or code' },
  { needs: [['own', 'VendCredentials']], effect: 'gives access to its files past the gateway' },
]

const moving = operations.filter(({ moves }) => moves)

/** Moves to a name of the caller's choice: they can leave the namespace of a rule without `tables`. */
export const waysOutOfNamespace: readonly Way[] = listStating('newName', moving).map((name) => ({
  needs: [
    ['own', name],
    ['other', destinationPermission],
  ],
  effect: 'elsewhere',
}))
