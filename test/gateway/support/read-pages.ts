import { expect } from 'vitest'
import type { TestedGateway } from './open-gateway.ts'

export interface Page {
  readonly names: readonly string[]
  readonly token: string | undefined
}

/** Reads one page of a listing, and expects 200. */
export async function readPage(gateway: TestedGateway, target: string, as: string): Promise<Page> {
  const response = await gateway.get(target, { as })
  expect(response, response.bytes.toString()).toMatchObject({ status: 200 })
  const { namespaces, tables, views, page_token: token } = response.json as Record<string, never>
  return { names: namespaces ?? tables ?? views ?? [], token }
}

/** Reads all pages of a listing with that limit. */
export async function readPages(
  gateway: TestedGateway,
  target: string,
  { as, limit }: { readonly as: string; readonly limit?: number },
): Promise<readonly Page[]> {
  const pages: Page[] = []
  const query = limit === undefined ? [] : [`limit=${limit}`]
  let token: string | undefined
  do {
    const parts = [...query, ...(token === undefined ? [] : [`page_token=${encodeURIComponent(token)}`])]
    const mark = target.includes('?') ? '&' : '?'
    const page = await readPage(gateway, parts.length === 0 ? target : target + mark + parts.join('&'), as)
    pages.push(page)
    expect(pages.length, 'the listing does not end').toBeLessThan(2_000)
    token = page.token
  } while (token !== undefined)
  return pages
}

export function listNames(pages: readonly Page[]): string[] {
  return pages.flatMap(({ names }) => names)
}
