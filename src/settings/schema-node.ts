import { z } from 'zod'
import { memoizeByObject } from '../lib/index.ts'

type JsonSchema = z.core.JSONSchema.BaseSchema

/** The parts of a JSON Schema that locate its values, and marks. */
export interface SchemaNode extends Pick<
  JsonSchema,
  'type' | 'description' | 'default' | 'minimum' | 'maximum' | 'required'
> {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: boolean | SchemaNode
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly oneOf?: readonly SchemaNode[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly exclusiveMinimum?: number
  /** Set with `meta`: never printed. */
  readonly secret?: true
  /** Set with `meta`: the name of a file or a folder. */
  readonly path?: true
}

export const toSchemaNode = memoizeByObject(
  // A copy: the type of the original also has the forms that zod does not write.
  (schema: z.ZodType): SchemaNode =>
    JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))),
)

/** Returns the node and the alternatives that it offers, at any depth. */
function listAlternatives(node: SchemaNode): readonly SchemaNode[] {
  return [node, ...[...(node.anyOf ?? []), ...(node.oneOf ?? [])].flatMap(listAlternatives)]
}

/** Returns the names of the settings of a section; of alternatives, those of all. */
export function listMembers(schema: SchemaNode, path: readonly (string | number)[]): readonly string[] {
  const section = path.reduce(findChildren, listAlternatives(schema))
  return section.flatMap(({ properties }) => Object.keys(properties ?? {}))
}

/** Returns the alternatives of a member, or of the items of a list, of any of the nodes. */
function findChildren(nodes: readonly SchemaNode[], key: string | number): readonly SchemaNode[] {
  return nodes.flatMap(({ items, properties = {}, additionalProperties }) => {
    const any = typeof additionalProperties === 'object' ? additionalProperties : undefined
    const member = Object.hasOwn(properties, key) ? properties[key] : any
    const child = typeof key === 'number' ? items : member
    return child === undefined ? [] : listAlternatives(child)
  })
}

/**
 * Returns the replacement of a value, or the value itself. `nodes` are its schema and the alternatives of it, `name` is the key
 * of the value, or of the list that holds it.
 */
type ChangeSetting = (value: unknown, nodes: readonly SchemaNode[], name: string) => unknown

/** Returns a copy of settings with each value changed; the content of a section or list, only if that is not replaced. */
export function mapSettings(schema: SchemaNode, settings: unknown, change: ChangeSetting): unknown {
  function mapValue(nodes: readonly SchemaNode[], value: unknown, name: string): unknown {
    if (value === undefined || value === null) return value
    const changed = change(value, nodes, name)
    if (changed !== value) return changed
    if (Array.isArray(value))
      return value.map((item, index) => mapValue(findChildren(nodes, index), item, name))
    if (typeof value !== 'object') return value
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, mapValue(findChildren(nodes, key), member, key)]),
    )
  }
  return mapValue(listAlternatives(schema), settings, '')
}
