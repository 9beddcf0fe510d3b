import { openAccessView, reloadAccessView } from './access-view.js'
import { showChanges } from './changes-view.js'
import { byId } from './elements.js'
import { showState, showStatus } from './state-views.js'
import { showTraffic } from './traffic-views.js'

const pollIntervalMs = 1000
const pause = byId('pause')
let isPaused = false
/** @type {string | undefined} */
let revision

pause.addEventListener('click', () => {
  isPaused = !isPaused
  pause.setAttribute('aria-pressed', String(isPaused))
  pause.textContent = isPaused ? 'Resume' : 'Pause'
})

void openAccessView().catch(() => undefined)
void poll()

/** Polls while the page is visible. */
async function poll() {
  for (;;) {
    if (!isPaused && !document.hidden) await refresh()
    await new Promise((resolve) => setTimeout(resolve, pollIntervalMs))
  }
}

async function refresh() {
  try {
    const response = await fetch('console/data', { signal: AbortSignal.timeout(10_000) })
    if (!response.ok) throw new Error(`the gateway returned status ${response.status}`)
    const { state, traffic, changes, seal } = await response.json()
    showState(state, traffic, seal)
    showTraffic(traffic)
    showChanges(changes)
    const hasChanged = revision !== undefined && revision !== state.policies.revision
    revision = state.policies.revision
    if (hasChanged) await reloadAccessView()
  } catch (error) {
    showStatus(`not reachable: ${error instanceof Error ? error.message : String(error)}`, false)
  }
}
