import { writeFile } from 'node:fs/promises'
import {
  createDecisionTableSchema,
  createPolicySchema,
} from '../../../src/policy/language/policy-json-schema.ts'

/** Regenerates the schemas in policies/: `npm run schema`. */
for (const [name, schema] of Object.entries({
  'schema.json': createPolicySchema(),
  'decision-table.schema.json': createDecisionTableSchema(),
})) {
  await writeFile(
    new URL(`../../../policies/${name}`, import.meta.url),
    `${JSON.stringify(schema, undefined, 2)}\n`,
  )
}
