import { readFile } from 'node:fs/promises'

export interface PageFile {
  readonly route: string
  readonly contentType: string
  readonly content: Buffer
}

const files: Readonly<Record<string, string>> = {
  'console.html': 'text/html; charset=utf-8',
  'design.css': 'text/css; charset=utf-8',
  'console.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'console.js': 'text/javascript; charset=utf-8',
  'access-view.js': 'text/javascript; charset=utf-8',
  'catalog-access.js': 'text/javascript; charset=utf-8',
  'changes-view.js': 'text/javascript; charset=utf-8',
  'commands.js': 'text/javascript; charset=utf-8',
  'denial-view.js': 'text/javascript; charset=utf-8',
  'elements.js': 'text/javascript; charset=utf-8',
  'fetch-json.js': 'text/javascript; charset=utf-8',
  'format.js': 'text/javascript; charset=utf-8',
  'last-hour-views.js': 'text/javascript; charset=utf-8',
  'namespace-tree.js': 'text/javascript; charset=utf-8',
  'playground-report.js': 'text/javascript; charset=utf-8',
  'playground-view.js': 'text/javascript; charset=utf-8',
  'restriction-view.js': 'text/javascript; charset=utf-8',
  'search.js': 'text/javascript; charset=utf-8',
  'state-views.js': 'text/javascript; charset=utf-8',
  'traffic-chart.js': 'text/javascript; charset=utf-8',
  'traffic-views.js': 'text/javascript; charset=utf-8',
}

export const pageRoute = '/console'

export function readPageFiles(): Promise<readonly PageFile[]> {
  return Promise.all(
    Object.entries(files).map(async ([name, contentType]) => ({
      route: name === 'console.html' ? pageRoute : `${pageRoute}/${name}`,
      contentType,
      content: await readFile(new URL(`page/${name}`, import.meta.url)),
    })),
  )
}
