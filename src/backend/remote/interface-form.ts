import {
  type FullTextQuery,
  type OperationName,
  planSchemas,
  queryTableRequestSchema,
  type TableQuery,
  unquoteMode,
} from 'catalog-gateway/catalog-api'
import { isObject } from 'catalog-gateway/lib'
import type { RequestMembers } from '../contract/catalog.ts'

/** Servers with models generated from the interface hold `k` in 32 bits, and refuse a greater one. */
const maxK = 2 ** 31 - 1
/** What the embedded catalog returns without `k`, which the interface requires. */
const defaultSearchK = 10

/**
 * Converts a request that has passed the schema of its operation to the form of the interface. LanceDB's remote client
 * has forms of its own, which other servers refuse or ignore: bare vectors, columns and texts, quoted modes, and null for
 * absent members. A query always gets `k` and `vector`. Members that the schema does not know are kept.
 */
export function toInterfaceForm(operation: OperationName, sent: RequestMembers): RequestMembers {
  if (operation === 'QueryTable') return convertQuery(sent, queryTableRequestSchema.parse(sent))
  if (operation !== 'ExplainTableQueryPlan' && operation !== 'AnalyzeTableQueryPlan')
    return omitNulls(unquoteModes(sent))
  const { branch, query } = planSchemas[operation].request.parse(sent)
  const { verbose, query: nested, ...flat } = sent
  const members = isObject(nested) ? { ...nested, branch: query.branch || branch } : flat
  const converted = convertQuery(members, query)
  return operation === 'AnalyzeTableQueryPlan' ? converted : omitNulls({ verbose, query: converted })
}

function convertQuery(sent: RequestMembers, query: TableQuery): RequestMembers {
  const { k, vector, columns, full_text_query: text } = query
  const isSearch = vector.length > 0 || text != null
  return {
    ...omitNulls(sent),
    k: Math.min(k ?? (isSearch ? defaultSearchK : maxK), maxK),
    vector: vector.length > 1 ? { multi_vector: vector } : { single_vector: vector[0] ?? [] },
    ...(columns != null && { columns: convertColumns(columns) }),
    ...(text != null && { full_text_query: convertText(text) }),
  }
}

function convertColumns(columns: NonNullable<TableQuery['columns']>): RequestMembers {
  return 'names' in columns
    ? { column_names: columns.names }
    : { column_aliases: Object.fromEntries(columns.expressions) }
}

function convertText(text: FullTextQuery): RequestMembers {
  return 'structured' in text
    ? { structured_query: { query: text.structured } }
    : { string_query: { query: text.words, columns: text.columns } }
}

function unquoteModes(sent: RequestMembers): RequestMembers {
  const { mode, behavior } = sent
  return {
    ...sent,
    ...(typeof mode === 'string' && { mode: unquoteMode(mode) }),
    ...(typeof behavior === 'string' && { behavior: unquoteMode(behavior) }),
  }
}

function omitNulls(members: RequestMembers): RequestMembers {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}
