import { readFile, writeFile } from 'node:fs/promises'
import {
  createCustomResourceDefinition,
  createResourceSchema,
} from '../../helm/custom-resource-definition.ts'
import { listUndelegatedPermissions } from '../../helm/undelegated-permissions.ts'
import { withSettings } from '../../helm/settings-in-values-schema.ts'
import { listUnknownMembers } from '../../helm/unknown-members.ts'
import {
  createDecisionTableSchema,
  createPolicySchema,
} from '../../../src/policy/language/policy-json-schema.ts'

/**
 * Regenerates the schemas in policies/, and in the chart that of the settings, the CustomResourceDefinition and what its rules
 * of admission refer to: `npm run schema`.
 */
for (const [name, schema] of Object.entries({
  'schema.json': createPolicySchema(),
  'decision-table.schema.json': createDecisionTableSchema(),
})) {
  await writeFile(
    new URL(`../../../policies/${name}`, import.meta.url),
    `${JSON.stringify(schema, undefined, 2)}\n`,
  )
}

const valuesSchema = new URL('../../../helm/catalog-gateway/values.schema.json', import.meta.url)
await writeFile(valuesSchema, withSettings(await readFile(valuesSchema, 'utf8')))

const definition = new URL('../../../helm/catalog-gateway/files/accesspolicies.yaml', import.meta.url)
await writeFile(definition, createCustomResourceDefinition())

const unknownMembers = new URL('../../../helm/catalog-gateway/files/unknown-members.cel', import.meta.url)
await writeFile(unknownMembers, listUnknownMembers(createResourceSchema()))

const undelegated = new URL(
  '../../../helm/catalog-gateway/files/undelegated-permissions.yaml',
  import.meta.url,
)
await writeFile(undelegated, listUndelegatedPermissions())
