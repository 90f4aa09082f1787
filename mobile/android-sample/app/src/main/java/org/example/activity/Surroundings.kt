package org.example.activity

import android.content.BroadcastReceiver
import android.content.Context
import android.content.Intent
import android.content.IntentFilter
import android.net.ConnectivityManager
import android.net.LinkProperties
import android.net.Network
import android.net.NetworkCapabilities
import android.os.BatteryManager
import android.os.PowerManager
import java.net.NetworkInterface
import org.json.JSONArray
import org.json.JSONObject

/** Tells the node what network there is and how the battery is. The node decides. */
class Surroundings(private val context: Context, private val node: P2PNode) : ConnectivityManager.NetworkCallback() {
    private val connectivity = context.getSystemService(ConnectivityManager::class.java)
    private var cost = P2PNode.Network.NONE
    private var interfaces = ""
    private var servers = ""

    private val battery = object : BroadcastReceiver() {
        override fun onReceive(context: Context, intent: Intent) = tellPower()
    }

    init {
        // What is so now, before anybody asks the node for a slice of work.
        tellPower()
        connectivity.activeNetwork?.let { network ->
            connectivity.getNetworkCapabilities(network)?.let { cost = costOf(it) }
            connectivity.getLinkProperties(network)?.let(::take)
        }
        tellNetwork()
        context.registerReceiver(battery, IntentFilter(Intent.ACTION_BATTERY_CHANGED).apply {
            addAction(PowerManager.ACTION_POWER_SAVE_MODE_CHANGED)
        })
        connectivity.registerDefaultNetworkCallback(this)
    }

    fun close() {
        connectivity.unregisterNetworkCallback(this)
        context.unregisterReceiver(battery)
    }

    // Android calls these one after the other, on a thread of its own.

    override fun onCapabilitiesChanged(network: Network, capabilities: NetworkCapabilities) {
        cost = costOf(capabilities)
        tellNetwork()
    }

    override fun onLinkPropertiesChanged(network: Network, link: LinkProperties) {
        take(link)
        tellNetwork()
    }

    override fun onLost(network: Network) {
        cost = P2PNode.Network.NONE
        interfaces = ""
        servers = ""
        tellNetwork()
    }

    private fun costOf(capabilities: NetworkCapabilities) =
        if (capabilities.hasCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED)) P2PNode.Network.UNMETERED
        else P2PNode.Network.METERED

    private fun take(link: LinkProperties) {
        interfaces = interfacesOf(link)
        servers = JSONArray(link.dnsServers.mapNotNull { it.hostAddress }).toString()
    }

    /** Android 11 and later name the interfaces to Java only. NsdManager does the multicast. */
    private fun interfacesOf(link: LinkProperties): String {
        val name = link.interfaceName ?: return ""
        val index = try {
            NetworkInterface.getByName(name)?.index ?: 0
        } catch (e: java.io.IOException) {
            0
        }
        val addresses = JSONArray(link.linkAddresses.mapNotNull { it.address.hostAddress })
        val entry = JSONObject().put("name", name).put("index", index).put("addrs", addresses).put("multicast", false)
        return JSONArray().put(entry).toString()
    }

    private fun tellNetwork() = quietly { node.setNetwork(cost, interfaces, servers) }

    private fun tellPower() = quietly {
        val state = context.registerReceiver(null, IntentFilter(Intent.ACTION_BATTERY_CHANGED))
        val level = state?.getIntExtra(BatteryManager.EXTRA_LEVEL, -1) ?: -1
        val full = state?.getIntExtra(BatteryManager.EXTRA_SCALE, 100) ?: 100
        val plugged = state?.getIntExtra(BatteryManager.EXTRA_PLUGGED, 0) ?: 0
        val saver = context.getSystemService(PowerManager::class.java).isPowerSaveMode
        node.setPower(if (level < 0 || full <= 0) -1 else 100 * level / full, plugged != 0, saver)
    }
}
