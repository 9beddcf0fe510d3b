import { factsReference } from './facts-reference.ts'
import { fieldsReference } from './fields-reference.ts'
import { groupsReference } from './groups-reference.ts'
import { requirementsReference } from './requirements-reference.ts'

/** The tables of docs/policy-reference.md that `npm run reference` writes. */
export const policyTables = [fieldsReference, groupsReference, requirementsReference, factsReference]
