import { z } from 'zod'
import { acceptanceHint } from '../../config/index.ts'
import { memoizeByObject } from '../../lib/index.ts'
import { expectedVariable, variableName } from './for-each.ts'
import { fileApiVersion, policyKind, resourceApiVersion } from './policy-document.ts'
import { builtInVocabulary, type PolicyVocabulary } from './policy-vocabulary.ts'
import { createRestrictionSchema, createTagsSchema } from './restriction-schema.ts'
import { commitsSchema, createRuleSchema } from './rule-schema.ts'
import {
  anyOf,
  checked,
  createNameSchemas,
  fullList,
  label,
  line,
  list,
  mapOf,
  optional,
  text,
} from './schema-parts.ts'
import { createTestSchema } from './test-schema.ts'

/*
 * The policy language: the parser, its types, the JSON Schema for editors and the CustomResourceDefinition are made from
 * these schemas. They read values of YAML as they are.
 */

const apiVersion = z.enum([fileApiVersion, resourceApiVersion]).describe('The version of the language.')

/** Files may also have the members of the Kubernetes API. */
const metadata = z.looseObject({
  name: label.describe('Unique in the folder of policies; appears in logs and audit records.'),
  namespace: optional(text, 'A Kubernetes namespace, with which the name begins in logs and audit records.'),
  description: z.unknown().optional().meta({ type: 'string', description: 'Description.' }),
})

export const forEachSchema = checked(
  mapOf(fullList(label, '[crm, billing]'), expectedVariable),
  (variables, report) => {
    const [variable = '', ...more] = Object.keys(variables)
    if (more.length > 0 || !variableName.test(variable)) {
      const found = Object.keys(variables).map((key) => JSON.stringify(key))
      report(` has ${found.join(', ') || 'no variable'}; expected ${expectedVariable}`)
    }
    const values = new Set<string>()
    for (const [index, value] of variables[variable]?.entries() ?? []) {
      if (values.has(value)) report(`: duplicate value "${value}"`, [variable, index])
      values.add(value)
    }
  },
).meta({ minProperties: 1, maxProperties: 1 })

export type PolicySchemas = ReturnType<typeof createPolicySchemas>

/** A policy has at least one of them. */
export const policyParts = ['rules', 'commits', 'restrict', 'tags', 'tests']

export const exampleOf = {
  restrict: '[{ id, subjects, tables, columns }]',
  rules: '[{ id, effect, subjects, operations }]',
  tests: '[{ as, operations, table, expect }]',
}

/** Creates the schemas of policies that may contain the names of a vocabulary. */
function createPolicySchemas(vocabulary: PolicyVocabulary) {
  const names = createNameSchemas(vocabulary)

  const policy = z.strictObject({
    apiVersion,
    kind: z.literal(policyKind).describe('The kind of the document.'),
    metadata: metadata.describe('The name of the policy; what Kubernetes has here besides is ignored.'),
    mode: optional(
      checked(z.enum(['enforce', 'shadow', 'development']), (mode, report) => {
        if (mode !== 'development' || vocabulary.options.acceptsDevelopment) return
        const expected = `another folder, ${acceptanceHint('development-policies')} in the settings`
        report(` is development: the policy is for \`catalog-gateway dev\` alone; expected ${expected}`)
      }),
      'shadow: the policy is evaluated, but only differences are counted and logged. development: it is in force in ' +
        '`catalog-gateway dev` alone; other gateways refuse it. Default: enforce.',
    ),
    forEach: optional(
      forEachSchema,
      'One variable and its values, such as { team: [crm, billing] }: the policy is one for each value, which replaces ' +
        '{team} in every text. Values are names; {team} must be in the namespace.',
    ),
    namespace: names.namespace.describe('The namespace of the policy, as a list of names. [] is the root.'),
    inherit: optional(z.boolean(), 'false: allow rules of parent namespaces do not apply here or beneath.'),
    final: optional(
      names.operations,
      'Operations, or groups of them, that policies of child namespaces cannot allow.',
    ),
    onDeny: optional(
      z.literal([403, 404]).meta({ type: 'integer' }),
      'Response to a denial, here and beneath. 404: conceal that the object exists. 403: denied. ' +
        'Default: 403 for callers that may list the object, otherwise 404.',
    ),
    contact: optional(
      line,
      'Whom to ask for access, in one line: shown with a denial here or beneath to callers that may see this namespace.',
    ),
    commits: optional(commitsSchema, 'What every new version of a table, here or beneath, must fulfil.'),
    restrict: optional(
      list(createRestrictionSchema(names), exampleOf.restrict),
      'Limits reads of tables to columns and rows. A restriction allows nothing, and nothing beneath undoes it.',
    ),
    tags: optional(
      createTagsSchema(names),
      'Tags of the namespace and of tables and columns in it, for conditions ("pii" in tags) and restrictions ' +
        '(columns: { without: [pii] }). They allow and deny nothing by themselves.',
    ),
    rules: optional(list(createRuleSchema(names, vocabulary), exampleOf.rules), 'Allow and deny rules.'),
    tests: optional(
      list(createTestSchema(names, vocabulary), exampleOf.tests),
      'Expected decisions of the policies in the folder, for `policy test`; no effect on requests.',
    ),
  })

  return {
    policy: policy.meta({ title: 'AccessPolicy of the catalog gateway', ...anyOf(policyParts) }),
    /** A policy for one value of `forEach`, which is checked by itself. */
    document: policy.extend({ forEach: z.unknown().optional() }),
  }
}

export const getPolicySchemas = memoizeByObject(createPolicySchemas)

export const { policy: policySchema } = getPolicySchemas(builtInVocabulary)
