import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { chartFolder, podTemplatesOf, render, valuesFile } from './chart.ts'
import { helms } from './helm-programs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

it.skipIf(helms.length === 0)(
  'a new version of the chart and of the program changes no pod that runs a given image',
  async () => {
    const newer = await temporaryFolder()
    await cp(chartFolder, newer, { recursive: true })
    const file = join(newer, 'Chart.yaml')
    const chart = await readFile(file, 'utf8')
    await writeFile(file, chart.replaceAll(/^(version|appVersion): .*$/gm, '$1: 9.9.9'))
    const words = ['--values', valuesFile('bundled-catalog'), '--set', 'image.tag=1.2.3']
    const [before, after] = [await render(words), await render(words, { chart: newer })]
    expect(after).not.toEqual(before)
    expect(podTemplatesOf(after)).toEqual(podTemplatesOf(before))
    expect(podTemplatesOf(before).length).toBe(4)
  },
)
