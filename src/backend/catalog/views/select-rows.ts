import { CatalogError } from '../../../catalog-api/catalog-error.ts'
import { queryTableRequestSchema, type TableQuery } from '../../../catalog-api/schemas/query.ts'
import type { ViewSelection } from '../../database/materialized-views.ts'
import { fileToStream } from '../../engine/arrow/arrow-file.ts'
import type { CatalogContext } from '../context/catalog-context.ts'

/** The rows of a view are in memory while they are written. */
const maxViewBytes = 256 * 1024 * 1024

/** Returns the rows of a selection as one Arrow IPC stream. Throws Unsupported (406) above `maxViewBytes`. */
export async function selectRows(
  context: CatalogContext,
  location: string,
  version: number,
  selection: ViewSelection,
): Promise<Buffer> {
  return await collectStream(await context.engine.query(location, { ...toQuery(selection), version }))
}

/** Returns the schema of a selection as an Arrow IPC stream without rows. Throws InvalidInput for wrong expressions. */
export async function selectSchema(
  context: CatalogContext,
  location: string,
  selection: ViewSelection,
): Promise<Buffer> {
  const query = toQuery(selection)
  // A query of the schema alone does not check its filter.
  await context.engine.plans.explain({ location }, query, false)
  return await collectStream(await context.engine.query(location, { ...query, k: 0 }))
}

function toQuery({ columns, filter, limit }: ViewSelection): TableQuery {
  return queryTableRequestSchema.parse({ columns, filter, k: limit })
}

async function collectStream(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const collected: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > maxViewBytes) {
      throw new CatalogError(
        'Unsupported',
        `the view has more than ${maxViewBytes} bytes; select fewer columns or rows, or set a limit`,
      )
    }
    collected.push(chunk)
  }
  return fileToStream(Buffer.concat(collected))
}
