extends RefCounted
## The event stream of a daemon: poll() each frame, and read what has come. It connects again by itself, and resumes after the last
## event that it saw.

const AGAIN_MS := 2000

var _host := ""
var _port := 80
var _token := ""
var _client := HTTPClient.new()
var _asked := false
var _text := ""
var _bytes := PackedByteArray()
var _last_id := ""
var _not_before := 0


func _init(url: String, token: String) -> void:
	var place := url.trim_prefix("http://").trim_suffix("/").split(":")
	_host = place[0]
	_port = int(place[1]) if place.size() > 1 else 80
	_token = token


## The events that have arrived since the last call: {"event": String, "data": Dictionary}.
func poll() -> Array[Dictionary]:
	var events: Array[Dictionary] = []
	_client.poll()
	match _client.get_status():
		HTTPClient.STATUS_DISCONNECTED:
			if Time.get_ticks_msec() >= _not_before:
				_asked = false
				_not_before = Time.get_ticks_msec() + AGAIN_MS
				_client.connect_to_host(_host, _port)
		HTTPClient.STATUS_CONNECTED:
			if _asked:
				_client.close() # the stream has ended
			else:
				_ask()
		HTTPClient.STATUS_BODY:
			_bytes.append_array(_client.read_response_body_chunk())
			_take_lines(events)
		HTTPClient.STATUS_CANT_CONNECT, HTTPClient.STATUS_CANT_RESOLVE, HTTPClient.STATUS_CONNECTION_ERROR:
			_client.close()
	return events


func close() -> void:
	_client.close()


func _ask() -> void:
	var headers := PackedStringArray(["Accept: text/event-stream"])
	if _token != "":
		headers.append("Authorization: Bearer " + _token)
	if _last_id != "":
		headers.append("Last-Event-ID: " + _last_id)
	_bytes.clear()
	_text = ""
	_asked = _client.request(HTTPClient.METHOD_GET, "/api/v1/events?kinds=asset", headers) == OK


func _take_lines(events: Array[Dictionary]) -> void:
	var end := _bytes.rfind(10)
	if end < 0:
		return
	_text += _bytes.slice(0, end + 1).get_string_from_utf8()
	_bytes = _bytes.slice(end + 1)
	while _text.contains("\n\n"):
		var at := _text.find("\n\n")
		var event := {"event": "message", "data": {}}
		for line in _text.substr(0, at).split("\n"):
			if line.begins_with("event:"):
				event["event"] = line.substr(6).strip_edges()
			elif line.begins_with("id:"):
				_last_id = line.substr(3).strip_edges()
			elif line.begins_with("data:"):
				var data: Variant = JSON.parse_string(line.substr(5).strip_edges())
				event["data"] = data if data is Dictionary else {}
		_text = _text.substr(at + 2)
		events.append(event)
