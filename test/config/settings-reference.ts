import { isDeepStrictEqual } from 'node:util'
import { backendSettingsSchema } from '../../src/backend/settings/backend-settings.ts'
import { gatewaySettingsSchema } from '../../src/config/gateway-settings.ts'
import { toSchemaNode, type SchemaNode } from '../../src/settings/schema-node.ts'
import { settingUnits } from '../../src/settings/setting-units.ts'
import { commonSettings } from './common-settings.ts'
import { typeOf } from './setting-types.ts'

interface ReferenceRow {
  /** `identity.issuers[].name`: brackets mark lists. */
  readonly key: string
  readonly type: string
  readonly fallback: string
  readonly description: string
}

const gateway = { command: '`catalog-gateway serve --config FILE`', schema: gatewaySettingsSchema }
const catalog = { command: '`catalog-gateway backend --config FILE`', schema: backendSettingsSchema }

/** Such as "\`...Ms: 30s\`". */
function describeUnits(): string {
  return settingUnits
    .map(([ending, { example }]) => `\`...${ending.source.slice(0, -1)}: ${example}\``)
    .join(', ')
}

const introduction = `<!-- Written by \`npm run reference\` from the settings in the code. -->

# Configuration

Settings are a YAML file. An unknown key is an error; all errors are reported at once, with their lines. Paths are
relative to the file. \`catalog-gateway check --config FILE\` prints the effective settings of a gateway, without secrets,
and fails if \`serve\` could not use a file, a policy, a key, an address or the audit folder. A port or an audit folder in use is a
warning: by the running gateway, perhaps. Findings of \`policy lint\` are counted.

The end of a key states its unit. Instead of a number in this unit, a key may have a value with a unit: ${describeUnits()}.

Environment variables override the file: \`listen.basePath\` is \`CATALOG_GATEWAY__LISTEN__BASE_PATH\`. The value is YAML, unless the
type is text: \`CATALOG_GATEWAY__DIALECTS='[lance]'\`. Members of lists (\`[]\` in the key) have no variable; the list has one.
\`dev\` takes neither file nor variables, only its options.
`

export function settingsReference(): string {
  const described = new Map<string, string>()
  const chapters = [
    chapterOf(`The gateway, common settings: ${gateway.command}`, gateway.schema, isCommon, described),
    chapterOf('The gateway, all else', gateway.schema, (row) => !isCommon(row), described),
    chapterOf(`The bundled catalog: ${catalog.command}`, catalog.schema, () => true, described),
  ]
  return [introduction, ...chapters].join('\n')
}

/** Lists settings of all commands without a description. */
export function settingsWithoutDescription(): readonly string[] {
  return [gateway, catalog]
    .flatMap(({ schema }) => rowsBelow(toSchemaNode(schema), ''))
    .filter(({ description }) => description === '')
    .map(({ key }) => key)
}

/** Lists common settings that no command has. */
export function unknownCommonSettings(): readonly string[] {
  const known = new Set(rowsBelow(toSchemaNode(gateway.schema), '').map(({ key }) => key))
  return [...commonSettings].filter((key) => !known.has(key))
}

function chapterOf(
  title: string,
  settings: Parameters<typeof toSchemaNode>[0],
  isPart: (row: ReferenceRow) => boolean,
  described: Map<string, string>,
): string {
  const schema = toSchemaNode(settings)
  const sections = Object.entries(schema.properties ?? {}).map(([name, node]) =>
    listOf(name, rowsOf(node, { key: name, parent: schema }).filter(isPart), described),
  )
  return [`## ${title}\n`, ...sections.filter((section) => section !== undefined)].join('\n')
}

/** A setting that has the description of an earlier one refers to it; `described` has those by their texts. */
function listOf(
  section: string,
  rows: readonly ReferenceRow[],
  described: Map<string, string>,
): string | undefined {
  if (rows.length === 0) return undefined
  const lines = rows.map(({ key, type, fallback, description }) => {
    const form = [type, fallback].filter(Boolean).join(', ')
    const text = ` (${form}): ${description.replaceAll('<', '&lt;')}`
    const earlier = text.length < 60 ? undefined : described.get(text)
    if (earlier === undefined) described.set(text, key)
    return `- \`${key}\`${referTo(earlier, key) ?? text}`
  })
  return [`### ${section}\n`, ...lines, ''].join('\n')
}

function referTo(earlier: string | undefined, key: string): string | undefined {
  if (earlier === undefined) return undefined
  return earlier === key ? ': as that of the gateway.' : `: as \`${earlier}\`.`
}

function isCommon({ key }: ReferenceRow): boolean {
  return commonSettings.has(key)
}

interface Location {
  readonly key: string
  readonly parent: SchemaNode
}

function rowsBelow(node: SchemaNode, key: string): readonly ReferenceRow[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    rowsOf(child, { key: key === '' ? name : `${key}.${name}`, parent: node }),
  )
}

function rowsOf(node: SchemaNode, location: Location): readonly ReferenceRow[] {
  const { key, parent } = location
  const section = sectionOf(node)
  if (section !== undefined) {
    const own = node.description === undefined ? [] : [rowOf(node, location)]
    return [...own, ...rowsBelow(section, key)]
  }
  const item = node.items && sectionOf(node.items)
  if (item === undefined) return [rowOf(node, location)]
  const [name, shared] = sharedMembers(item, parent) ?? []
  const own = rowOf(node, location)
  const also = name === undefined ? '' : ` Each has the members of \`${name}\`, and those below.`
  const others = Object.entries(item.properties ?? {}).filter(([member]) => shared?.[member] === undefined)
  return [
    { ...own, description: own.description + also },
    ...rowsBelow({ ...item, properties: Object.fromEntries(others) }, `${key}[]`),
  ]
}

function rowOf(node: SchemaNode, { key, parent }: Location): ReferenceRow {
  const isRequired = parent.required?.includes(key.split('.').at(-1) ?? '') === true
  const { default: value } = node
  const written = typeof value === 'string' ? value : JSON.stringify(value ?? {})
  const fallback = written === '{}' ? '' : `\`${written}\``
  return {
    key,
    type: typeOf(node),
    fallback: isRequired ? 'required' : fallback,
    description: node.description ?? '',
  }
}

/** Returns the schema of a section; if it has alternatives, with the members of all of them. */
function sectionOf(node: SchemaNode): SchemaNode | undefined {
  if (node.properties !== undefined) return node
  const ways = node.anyOf ?? node.oneOf ?? []
  if (ways.length === 0 || !ways.every(({ properties }) => properties !== undefined)) return undefined
  const names = new Set(ways.flatMap(({ properties = {} }) => Object.keys(properties)))
  const properties = [...names].map((name) => [name, memberOf(name, ways)] as const)
  const required = [...names].filter((name) => ways.every((way) => way.required?.includes(name)))
  return { ...node, properties: Object.fromEntries(properties), required }
}

/** Merges the alternatives of a member, and notes those that lack it. */
function memberOf(name: string, ways: readonly SchemaNode[]): SchemaNode {
  const having = ways.filter(({ properties }) => properties?.[name] !== undefined)
  const members = having.flatMap(({ properties }) => properties?.[name] ?? [])
  const [first = {}] = members
  if (members.every((member) => member.const !== undefined)) {
    return { ...first, const: undefined, enum: members.map((member) => member.const) }
  }
  const types = having.map(({ properties }) => {
    const type = properties?.['type']?.const
    return typeof type === 'string' ? type : ''
  })
  if (having.length === ways.length || types.includes('')) return first
  return { ...first, description: `${first.description ?? ''} Only for ${types.join(' and ')}.`.trim() }
}

/** A section next to a list whose items have all of its members as well. */
function sharedMembers(
  item: SchemaNode,
  parent: SchemaNode,
): [name: string, members: NonNullable<SchemaNode['properties']>] | undefined {
  for (const [name, { properties = {} }] of Object.entries(parent.properties ?? {})) {
    const members = Object.entries(properties)
    const isShared = members.every(([key, member]) => isDeepStrictEqual(item.properties?.[key], member))
    if (members.length > 0 && isShared) return [name, properties]
  }
  return undefined
}
