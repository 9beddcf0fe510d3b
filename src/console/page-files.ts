import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'

export interface PageFile {
  readonly route: string
  readonly contentType: string
  readonly content: Buffer
}

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export const pageRoute = '/console'

/** Reads the page and the files that it refers to. */
export async function readPageFiles(): Promise<readonly PageFile[]> {
  const folder = new URL('page/', import.meta.url)
  const files = (await readdir(folder)).map(async (name) => {
    const contentType = contentTypes[extname(name)]
    if (contentType === undefined) return []
    const route = name === 'console.html' ? pageRoute : `${pageRoute}/${name}`
    return [{ route, contentType, content: await readFile(new URL(name, folder)) }]
  })
  return (await Promise.all(files)).flat()
}
