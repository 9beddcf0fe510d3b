import { beginAccess, reloadAccess } from './access-view.js'
import { showChanges } from './changes-view.js'
import { byId } from './elements.js'
import { showState, showStatus } from './state-views.js'
import { showTraffic } from './traffic-views.js'

const everyMs = 1000
const pause = byId('pause')
let isPaused = false
/** @type {string | undefined} */
let revision

pause.addEventListener('click', () => {
  isPaused = !isPaused
  pause.setAttribute('aria-pressed', String(isPaused))
  pause.textContent = isPaused ? 'Resume' : 'Pause'
})

void beginAccess().catch(() => undefined)
void follow()

/** Polls while the page is visible. */
async function follow() {
  for (;;) {
    if (!isPaused && !document.hidden) await showNow()
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

async function showNow() {
  try {
    const response = await fetch('console/data', { signal: AbortSignal.timeout(10_000) })
    if (!response.ok) throw new Error(`the gateway returned status ${response.status}`)
    const { state, traffic, changes, seal } = await response.json()
    showState(state, traffic, seal)
    showTraffic(traffic)
    showChanges(changes)
    const isOther = revision !== undefined && revision !== state.policies.revision
    revision = state.policies.revision
    if (isOther) await reloadAccess()
  } catch (error) {
    showStatus(`not reachable: ${error instanceof Error ? error.message : String(error)}`, false)
  }
}
