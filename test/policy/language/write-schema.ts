import { writeFile } from 'node:fs/promises'
import { printOperationSchemas } from '../../catalog-api/operation-schemas.ts'
import {
  createCustomResourceDefinition,
  createResourceSchema,
} from '../../helm/custom-resource-definition.ts'
import { listUndelegatedPermissions } from '../../helm/undelegated-permissions.ts'
import { listUnknownMembers } from '../../helm/unknown-members.ts'
import { policySchema } from '../../../src/policy/language/policy-schema.ts'
import { toJsonSchema } from '../../../src/policy/language/schema-parts.ts'

/**
 * Regenerates the schemas of the catalog as the gateway reads them, that of policies, and in the chart the
 * CustomResourceDefinition and what its rules of admission refer to: `npm run schema`.
 */
const operationSchemas = new URL('../../../src/catalog-api/schemas.json', import.meta.url)
await writeFile(operationSchemas, printOperationSchemas())

await writeFile(
  new URL('../../../policies/schema.json', import.meta.url),
  `${JSON.stringify(toJsonSchema(policySchema), undefined, 2)}\n`,
)

const definition = new URL('../../../helm/catalog-gateway/files/accesspolicies.yaml', import.meta.url)
await writeFile(definition, createCustomResourceDefinition())

const unknownMembers = new URL('../../../helm/catalog-gateway/files/unknown-members.cel', import.meta.url)
await writeFile(unknownMembers, listUnknownMembers(createResourceSchema()))

const undelegated = new URL(
  '../../../helm/catalog-gateway/files/undelegated-permissions.yaml',
  import.meta.url,
)
await writeFile(undelegated, listUndelegatedPermissions())
