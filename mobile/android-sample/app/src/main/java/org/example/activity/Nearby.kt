package org.example.activity

import android.content.Context
import android.net.nsd.NsdManager
import android.net.nsd.NsdServiceInfo
import java.util.UUID

/**
 * Finds phones with this app on the same Wi-Fi, of both kinds, and is found by them. The
 * addresses are in the TXT record, under a0, a1, ... All methods are for the main thread,
 * and so are the answers before they are handed on.
 */
class Nearby(private val app: ActivityApp, private val found: (String) -> Unit) {
    private val manager = app.getSystemService(Context.NSD_SERVICE) as NsdManager
    private val waiting = ArrayDeque<NsdServiceInfo>() // older systems resolve one at a time
    private var resolving = false
    private var search: Search? = null
    private var announcement: Announcement? = null
    private var announced = listOf<String>()

    fun start() {
        if (search == null) search = Search().also { quietly { manager.discoverServices(SERVICE, NsdManager.PROTOCOL_DNS_SD, it) } }
    }

    fun stop() {
        search?.let { quietly { manager.stopServiceDiscovery(it) } }
        search = null
        waiting.clear()
        announce(emptyList())
    }

    /** Announces the node's addresses in place of those before. */
    fun announce(addresses: List<String>) {
        val local = addresses.filter { !it.startsWith("/ip4/127.") && !it.startsWith("/ip6/::1/") && it.length < 250 }.take(4)
        if (local == announced) return
        announced = local
        announcement?.let { quietly { manager.unregisterService(it) } }
        announcement = null
        if (local.isEmpty()) return
        val info = NsdServiceInfo()
        info.serviceName = UUID.randomUUID().toString() // nobody is followed by it
        info.serviceType = SERVICE
        info.port = UNUSED
        local.forEachIndexed { i, address -> info.setAttribute("a$i", address) }
        announcement = Announcement().also { quietly { manager.registerService(info, NsdManager.PROTOCOL_DNS_SD, it) } }
    }

    @Suppress("DEPRECATION") // its successor came with Android 14
    private fun resolveNext() {
        if (resolving) return
        val next = waiting.removeFirstOrNull() ?: return
        resolving = true
        manager.resolveService(next, object : NsdManager.ResolveListener {
            override fun onServiceResolved(info: NsdServiceInfo) = resolved(info.attributes.values.filterNotNull())

            override fun onResolveFailed(info: NsdServiceInfo, error: Int) = resolved(emptyList())
        })
    }

    private fun resolved(attributes: List<ByteArray>) {
        app.main.post {
            resolving = false
            attributes.forEach { found(String(it, Charsets.UTF_8)) }
            resolveNext()
        }
    }

    private inner class Search : NsdManager.DiscoveryListener {
        override fun onServiceFound(info: NsdServiceInfo) {
            app.main.post {
                waiting.addLast(info)
                resolveNext()
            }
        }

        override fun onServiceLost(info: NsdServiceInfo) {}
        override fun onDiscoveryStarted(type: String) {}
        override fun onDiscoveryStopped(type: String) {}
        override fun onStartDiscoveryFailed(type: String, error: Int) {}
        override fun onStopDiscoveryFailed(type: String, error: Int) {}
    }

    private class Announcement : NsdManager.RegistrationListener {
        override fun onServiceRegistered(info: NsdServiceInfo) {}
        override fun onServiceUnregistered(info: NsdServiceInfo) {}
        override fun onRegistrationFailed(info: NsdServiceInfo, error: Int) {}
        override fun onUnregistrationFailed(info: NsdServiceInfo, error: Int) {}
    }

    private companion object {
        const val SERVICE = "_p2pactivity._tcp" // as in the iOS sample
        const val UNUSED = 9 // a service must have a port; the node's own is in its addresses
    }
}
