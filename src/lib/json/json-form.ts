import { getMembers } from './json-values.ts'

/** The kinds of a JSON value. `null` is allowed in every place: it counts as absent, or removes a key of a map. */
export type JsonKind = 'string' | 'number' | 'boolean' | 'object' | 'list'

/** What a JSON value may be and contain. Forms refer to each other in circles where a schema is recursive. */
export interface JsonForm {
  readonly kinds: ReadonlySet<JsonKind>
  /** Members of an object, by name. */
  readonly members: ReadonlyMap<string, JsonForm>
  /** Form of the members of any other name; undefined if an object has no others. */
  readonly others: JsonForm | undefined
  /** Form of the items of a list; undefined if they are not restricted further than `noValue`. */
  readonly items: JsonForm | undefined
}

type FormUnderConstruction = { -readonly [Member in keyof JsonForm]: JsonForm[Member] }

const allKinds: readonly JsonKind[] = ['string', 'number', 'boolean', 'object', 'list']
const noMembers: ReadonlyMap<string, JsonForm> = new Map()

/** Any JSON value. */
const anyValue: JsonForm = createOpenForm()
/** A value that only allows null. */
export const noValue: JsonForm = Object.freeze({
  kinds: new Set<JsonKind>(),
  members: noMembers,
  others: undefined,
  items: undefined,
})

/** Creates a form that allows any JSON value and differs from `anyValue` in identity only. */
export function createOpenForm(): JsonForm {
  const form: FormUnderConstruction = {
    kinds: new Set(allKinds),
    members: noMembers,
    others: undefined,
    items: undefined,
  }
  form.others = form
  form.items = form
  return form
}

/** Whether every value that has one of the kinds of the form is valid, so that nothing within needs to be read. */
export function isOpen(form: JsonForm): boolean {
  return form === anyValue || !(form.kinds.has('object') || form.kinds.has('list'))
}

const kindsByType: Readonly<Record<string, readonly JsonKind[]>> = {
  string: ['string'],
  integer: ['number'],
  number: ['number'],
  boolean: ['boolean'],
  object: ['object'],
  array: ['list'],
  null: [],
}

/**
 * Returns a function that creates the form of the values of a JSON Schema, as zod writes it, which may refer to the
 * definitions: the names and kinds of members at every depth. Further restrictions of the schema, and which members it
 * requires, are not part of a form.
 */
export function createFormReader(definitions: object): (schema: unknown) => JsonForm {
  /** Forms of definitions; those that are being read are incomplete. */
  const known = new Map<string, FormUnderConstruction>()

  function readDefinition(name: string): JsonForm {
    const before = known.get(name)
    if (before !== undefined) return before
    const form: FormUnderConstruction = { ...noValue }
    known.set(name, form)
    return Object.assign(form, read(Reflect.get(definitions, name)))
  }

  function read(schema: unknown): JsonForm {
    const { $ref, anyOf, oneOf, type, properties, additionalProperties, items, prefixItems } =
      getMembers(schema)
    if (typeof $ref === 'string') return readDefinition($ref.slice('#/$defs/'.length))
    const alternatives: unknown = anyOf ?? oneOf
    if (Array.isArray(alternatives)) return alternatives.map(read).reduce(mergeForms)
    // A schema without a type describes any value.
    if (type === undefined) return anyValue
    const types: readonly unknown[] = Array.isArray(type) ? type : [type]
    const itemSchemas: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : [items]
    const mayHaveOthers = additionalProperties !== undefined && additionalProperties !== false
    return {
      kinds: new Set(types.flatMap((one) => kindsByType[String(one)] ?? unknownType(one))),
      members: new Map(Object.entries(getMembers(properties)).map(([name, member]) => [name, read(member)])),
      others: mayHaveOthers ? read(additionalProperties) : undefined,
      items: types.includes('array') ? itemSchemas.map(read).reduce(mergeForms) : undefined,
    }
  }

  return read
}

function unknownType(type: unknown): never {
  throw new Error(`a schema of a request has the type ${String(type)}`)
}

/** Creates the form of the values that have one form or the other. */
export function mergeForms(one: JsonForm, other: JsonForm): JsonForm {
  if (one === other || other.kinds.size === 0) return one
  if (one.kinds.size === 0) return other
  if (one === anyValue || other === anyValue) return anyValue
  const members = new Map(one.members)
  for (const [name, form] of other.members) {
    const before = members.get(name)
    members.set(name, before === undefined ? form : mergeForms(before, form))
  }
  return {
    kinds: new Set([...one.kinds, ...other.kinds]),
    members,
    others: mergeOptional(one.others, other.others),
    items: mergeOptional(one.items, other.items),
  }
}

function mergeOptional(one: JsonForm | undefined, other: JsonForm | undefined): JsonForm | undefined {
  return one === undefined || other === undefined ? (one ?? other) : mergeForms(one, other)
}
