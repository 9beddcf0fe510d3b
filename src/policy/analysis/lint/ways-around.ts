import { getOperation, operationNames, type Operation } from '../../../catalog-api/operations.ts'
import type { Permission } from '../../../catalog-api/permissions.ts'
import { destinationPermission } from '../../../catalog-api/requirements.ts'

/** Where permissions are needed: on what the rule is about, on something else, outside of its namespace, or at the root. */
export type Place = 'own' | 'other' | 'outside' | 'root'

/** A way around a rule. */
export interface Way {
  /** All permissions are needed, those of one place on one object. */
  readonly needs: readonly (readonly [place: Place, ...permissions: readonly Permission[]])[]
  readonly effect: string
}

function namesOf(is: (operation: Operation) => boolean): readonly Permission[] {
  return operationNames.filter((name) => is(getOperation(name)))
}

function states({ facts }: Operation, fact: string): boolean {
  return facts.some(([name]) => name === fact)
}

const removing = [
  ...namesOf(({ object, removesName }) => object === 'table' && removesName),
  'OverwriteTable',
] as const
const creating = namesOf(({ object, versions }) => object === 'table' && versions === 'restart')

/** Removing or overwriting a table and creating it again replaces it with every branch. */
export const waysAroundBranches: readonly Way[] = removing.flatMap((remove) =>
  creating.map((create) => ({ needs: [['own', remove, create]], effect: '' })),
)

/** Ways to use the content of a table that a deny of tables does not cover. */
export const waysAroundTables: readonly Way[] = [
  ...namesOf((one) => one.object === 'table' && one.effect === 'change' && states(one, 'location')).map(
    (name): Way => ({
      needs: [['other', name, 'ChooseLocation']],
      effect: 'gives its location another name',
    }),
  ),
  ...namesOf((one) => states(one, 'manifestPath')).map((name): Way => ({
    needs: [['other', name]],
    effect: 'commits its files to another table',
  })),
  { needs: [['root', 'ReadAnyTable']], effect: 'copies it by SQL or code' },
  { needs: [['own', 'VendCredentials']], effect: 'gives access to its files past the gateway' },
]

/** Moves to a name of the caller's choice: they can leave the namespace of a rule without `tables`. */
export const waysOutOfNamespace: readonly Way[] = namesOf((one) => one.moves && states(one, 'newName')).map(
  (name) => ({
    needs: [
      ['own', name],
      ['outside', destinationPermission],
    ],
    effect: 'elsewhere',
  }),
)
