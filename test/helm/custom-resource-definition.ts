import { Document, isScalar, visit } from 'yaml'
import {
  policyApiGroup,
  policyKind,
  policyResourceName,
  resourceApiVersion,
} from '../../src/policy/language/policy-document.ts'
import { policySchema } from '../../src/policy/language/policy-schema.ts'
import { toJsonSchema } from '../../src/policy/language/schema-parts.ts'

type Json = Readonly<Record<string, unknown>>

/** Returns the CustomResourceDefinition of AccessPolicy as YAML, derived from the JSON Schema of policy documents. */
export function createCustomResourceDefinition(): string {
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${policyResourceName}.${policyApiGroup}` },
    spec: {
      group: policyApiGroup,
      scope: 'Namespaced',
      names: {
        kind: policyKind,
        listKind: `${policyKind}List`,
        plural: policyResourceName,
        singular: policyKind.toLowerCase(),
        shortNames: ['apol'],
      },
      versions: [
        {
          name: resourceApiVersion.slice(policyApiGroup.length + 1),
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: printerColumns,
          schema: { openAPIV3Schema: createResourceSchema() },
        },
      ],
    },
  }
  const document = new Document(definition)
  // Lists of scalars and short maps are written in one line.
  visit(document, {
    Seq: (_, list) => {
      if (list.items.every(isScalar)) list.flow = true
    },
    Map: (_, map) => {
      const isShort = JSON.stringify(map).length <= 90
      if (isShort && map.items.every(({ value }) => isScalar(value))) map.flow = true
    },
  })
  return `# Written by npm run schema.\n${document.toString({ lineWidth: 0 })}`
}

const printerColumns = [
  {
    name: 'Catalog Namespace',
    type: 'string',
    jsonPath: '.namespace',
    description: 'Namespace of the catalog.',
  },
  { name: 'Mode', type: 'string', jsonPath: '.mode', description: 'shadow, if the policy decides nothing.' },
  column('Accepted', 'status', 'Whether the gateways apply the policy.'),
  column('Reason', 'reason', 'Why they apply it, or why not.'),
  { ...column('Message', 'message', 'The error, and what to do.'), priority: 1 },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
]

function column(name: string, field: string, description: string): Json {
  return { name, type: 'string', jsonPath: `.status.conditions[?(@.type=="Accepted")].${field}`, description }
}

/** Returns the structural schema of AccessPolicy resources. */
export function createResourceSchema(): Json {
  const { properties, required, anyOf } = toJsonSchema(policySchema)
  const { metadata: _, ...fields } = properties as Readonly<Record<string, Json>>
  const members = {
    ...fields,
    apiVersion: { ...fields['apiVersion'], enum: [resourceApiVersion] },
  }
  const { properties: converted, ...rest } = toStructural(
    { type: 'object', properties: members, required, anyOf },
    '',
  )
  return {
    description: 'A policy of catalog-gateway: who may do what in a namespace of the catalog and beneath it.',
    ...rest,
    properties: {
      ...(converted as Json),
      // All that a structural schema may say of metadata. Names of policies are shorter than those of Kubernetes.
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 128 } } },
      status: statusSchema,
    },
  }
}

/** Larger lists are refused, because the API server must know the cost of all validations. */
const maxItems = 1000

/** One name in the catalog, or a pattern of names: the chart allows `$` if the delimiter of an upstream is another one. */
const oneName = '^[^/$]+$'

/**
 * What the API server refuses besides: mistakes that the JSON Schema for editors cannot express, or whose rules would be
 * too expensive. By the path in the schema, with `[]` behind a list and `*` for any name; a field that the schema lacks
 * has none.
 */
const restrictions: readonly (readonly [path: RegExp, (schema: Json) => Json])[] = [
  [
    /^$/,
    () =>
      toRules(
        [
          "!has(self.forEach) || self.forEach.all(variable, self.__namespace__.exists(name, name.contains('{' + variable + '}')))",
          "the variable of forEach is not in namespace, so all values would have the same one; expected it there, such as ['{team}']",
        ],
        [
          "has(self.forEach) || !self.__namespace__.exists(name, name.matches('[{][{]? ?[A-Za-z][A-Za-z0-9_]* ?[}]'))",
          'namespace has a variable, but the policy has no forEach; expected forEach with its values',
        ],
      ),
  ],
  [
    /^mode$/,
    (schema) => ({ enum: (schema['enum'] as readonly string[]).filter((mode) => mode !== 'development') }),
  ],
  [/^forEach\.\*$/, () => ({ 'x-kubernetes-list-type': 'set' })],
  [/^namespace$/, () => ({ maxItems: 32 })],
  [/^namespace\[\]$/, () => ({ pattern: '^[^*/$]+$', maxLength: 256 })],
  [/^(rules|restrict)$/, () => ({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'] })],
  [
    /^rules\[\]$/,
    () =>
      toRules([
        "self.effect == 'allow' || !has(self.until)",
        'until is allowed only with effect: allow; a deny may have "when: now < timestamp(…)"',
      ]),
  ],
  [/^(rules|restrict)\[\]\.tables\[\]$/, () => ({ pattern: oneName })],
  [/(subjects|except)\.(users|groups|keys)\[\]$/, () => ({ pattern: '^[^*]+$' })],
  [
    /(subjects|except)\.serviceAccounts\[\]$/,
    () => ({ pattern: '^[^:*]+:[A-Za-z0-9_{}-]+/[A-Za-z0-9._{}-]+$' }),
  ],
]

function toRules(...rules: readonly (readonly [rule: string, message: string])[]): Json {
  return { 'x-kubernetes-validations': rules.map(([rule, message]) => ({ rule, message })) }
}

/**
 * Converts a schema of draft 7 to a structural one of Kubernetes, which states the type of each value.
 * The API server cannot refuse unknown members (`additionalProperties: false`) and removes them unless it preserves them, as
 * it removes members that are null and may not be: a rule with a misspelt or an empty condition would apply always. So it
 * preserves them all, for the admission policy and the gateway to refuse.
 */
function toStructural(schema: Json, path: string): Json {
  const converted = convertSchema(schema, path)
  return restrictions
    .filter(([pattern]) => pattern.test(path))
    .reduce<Json>((before, [, restrict]) => {
      const rules = (before['x-kubernetes-validations'] ?? []) as readonly unknown[]
      const { 'x-kubernetes-validations': more = [], ...rest } = restrict(before)
      const all = [...rules, ...(more as readonly unknown[])]
      return { ...before, ...rest, ...(all.length > 0 && { 'x-kubernetes-validations': all }) }
    }, converted)
}

function convertSchema(schema: Json, path: string): Json {
  const { const: only, additionalProperties, properties, items, anyOf, oneOf, ...rest } = schema
  if (only !== undefined) return convertSchema({ ...rest, enum: [only] }, path)
  const types = ((anyOf ?? []) as readonly Json[]).map(({ type }) => type)
  if (types.includes('object')) {
    // Alternatives of another shape, which a structural schema cannot have: the gateway checks them.
    const type = types.every((each) => each === 'object') && { type: 'object' }
    return { ...rest, ...type, 'x-kubernetes-preserve-unknown-fields': true }
  }
  const convert = (child: unknown, part: string): Json =>
    toStructural(child as Json, `${path}${part}`.replace(/^\./, ''))
  const required = (rest['required'] ?? []) as readonly string[]
  const isMap = typeof additionalProperties === 'object'
  const isObject = rest['type'] === 'object' && !isMap
  return {
    ...rest,
    ...(rest['type'] === undefined && {
      type: typeOfAll((rest['enum'] ?? anyOfStrings) as readonly unknown[]),
    }),
    ...(isObject && { 'x-kubernetes-preserve-unknown-fields': true }),
    ...(isMap && { additionalProperties: convert(additionalProperties, '.*') }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties as Json).map(([name, child]) => [
          name,
          { ...convert(child, `.${name}`), ...(!required.includes(name) && { nullable: true }) },
        ]),
      ),
    }),
    ...(items !== undefined && { maxItems, items: convert(items, '[]') }),
    ...toValidations('at least one', anyOf as readonly Json[] | undefined),
    ...toValidations('exactly one', oneOf as readonly Json[] | undefined),
  }
}

/** Alternatives without types are of strings. */
const anyOfStrings = ['']

function typeOfAll(values: readonly unknown[]): string {
  const [value] = values
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Alternatives of required members become rules, whose messages state the expected members; those of strings remain. */
function toValidations(count: 'at least one' | 'exactly one', alternatives: readonly Json[] = []): Json {
  if (alternatives.length === 0) return {}
  const names = alternatives.flatMap(({ required }) => (required ?? []) as readonly string[])
  if (names.length !== alternatives.length) return { enum: listValues(alternatives) }
  const present = names.map((name) => `has(self.${toIdentifier(name)})`)
  const rule =
    count === 'at least one'
      ? present.join(' || ')
      : `[${present.join(', ')}].filter(isPresent, isPresent).size() == 1`
  return { 'x-kubernetes-validations': [{ rule, message: `expected ${count} of ${names.join(', ')}` }] }
}

/**
 * The values of alternatives of strings, without those that only match a pattern: names of extra operations, which the
 * chart adds. One list for all fields, which is written once.
 */
function listValues(alternatives: readonly Json[]): readonly unknown[] {
  const values = alternatives.flatMap((alternative) => (alternative['enum'] ?? []) as readonly unknown[])
  const key = JSON.stringify(values)
  const known = valueLists.get(key) ?? values
  valueLists.set(key, known)
  return known
}

const valueLists = new Map<string, readonly unknown[]>()

/** Name of a member in a rule: the API server escapes words that are reserved in CEL. */
function toIdentifier(name: string): string {
  return name === 'namespace' ? `__${name}__` : name
}

const statusSchema = {
  type: 'object',
  description: 'Written by the gateways, which never read it.',
  properties: {
    observedGeneration: {
      type: 'integer',
      format: 'int64',
      minimum: 0,
      description: 'The generation of the policy that the status is about.',
    },
    conditions: {
      type: 'array',
      description: 'Accepted: whether the gateways apply the policy.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: {
        type: 'object',
        required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
        properties: {
          type: { type: 'string', maxLength: 316, description: 'Accepted.' },
          status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'Whether it holds.' },
          observedGeneration: {
            type: 'integer',
            format: 'int64',
            minimum: 0,
            description: 'The generation of the policy that the condition is about.',
          },
          lastTransitionTime: {
            type: 'string',
            format: 'date-time',
            description: 'When its status changed.',
          },
          reason: {
            type: 'string',
            minLength: 1,
            maxLength: 1024,
            pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
            description: 'Why, as one word.',
          },
          message: { type: 'string', maxLength: 32_768, description: 'Why, in words.' },
        },
      },
    },
  },
}
