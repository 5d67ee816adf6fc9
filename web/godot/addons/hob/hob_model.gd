@tool
class_name HobModel
extends Node3D
## A model of a Hob daemon: its binary glTF becomes children of this node, and each good save replaces them. While the newest version
## cannot be cooked, the last good one stays, and `failed` says why.

signal loaded
signal failed(message: String, file: String, line: int, hint: String)

const URL_SETTING := "hob/url"
const DEFAULT_URL := "http://127.0.0.1:7780"
const HobEvents := preload("hob_events.gd")

## The asset, as `hob ls` names it: art/props/duck.glb.
@export var asset := "":
	set(value):
		asset = value
		if is_inside_tree():
			reload()
## The daemon; empty: that of the project settings.
@export var url := ""
## For a daemon that requires one. Better not saved in a scene: set it from a script.
var token := ""

var _request: HTTPRequest
var _events: HobEvents
var _shown: Node
var _again := false


func _ready() -> void:
	_request = HTTPRequest.new()
	_request.request_completed.connect(_on_answer)
	add_child(_request, false, Node.INTERNAL_MODE_FRONT)
	_events = HobEvents.new(address(), token)
	reload()


func _exit_tree() -> void:
	if _events:
		_events.close()


func _process(_delta: float) -> void:
	if not _events:
		return
	for event in _events.poll():
		var data: Dictionary = event["data"]
		if event["event"] == "reset":
			reload()
		elif event["event"] == "asset" and data.get("asset") == asset:
			var error: Variant = data.get("error")
			if error is Dictionary:
				_tell(error)
			else:
				reload()


func address() -> String:
	var own := url if url != "" else str(ProjectSettings.get_setting(URL_SETTING, DEFAULT_URL))
	return own.trim_suffix("/") if own.contains("://") else "http://" + own.trim_suffix("/")


## Fetches the model again.
func reload() -> void:
	if asset == "" or not _request:
		return
	if _request.get_http_client_status() != HTTPClient.STATUS_DISCONNECTED:
		_again = true # after this one
		return
	var headers := PackedStringArray(["Prefer: wait=60"])
	if token != "":
		headers.append("Authorization: Bearer " + token)
	var parts := PackedStringArray()
	for part in asset.split("/"):
		parts.append(part.uri_encode())
	if _request.request("%s/a/%s?output=glb" % [address(), "/".join(parts)], headers) != OK:
		failed.emit("the daemon at %s cannot be asked" % address(), asset, 0, "")


func _on_answer(result: int, status: int, _headers: PackedStringArray, body: PackedByteArray) -> void:
	if result != HTTPRequest.RESULT_SUCCESS:
		failed.emit("no daemon answers at %s" % address(), asset, 0, "start one with 'hob serve DIR'")
	elif status == 200:
		_show(body)
	elif status != 202: # 202: still being cooked; an event follows
		var problem: Variant = JSON.parse_string(body.get_string_from_utf8())
		_tell({"message": problem.get("detail", ""), "hint": problem.get("hint", "")} if problem is Dictionary else {"message": str(status)})
	if _again:
		_again = false
		reload()


func _show(glb: PackedByteArray) -> void:
	var document := GLTFDocument.new()
	var state := GLTFState.new()
	if document.append_from_buffer(glb, "", state) != OK:
		failed.emit("Godot cannot read this binary glTF", asset, 0, "")
		return
	var model := document.generate_scene(state)
	if not model:
		failed.emit("Godot makes no scene of this binary glTF", asset, 0, "")
		return
	add_child(model, false, Node.INTERNAL_MODE_BACK) # not saved with the scene
	if _shown:
		_shown.queue_free()
	_shown = model
	loaded.emit()


func _tell(error: Dictionary) -> void:
	var location: Variant = error.get("location")
	var place: Dictionary = location if location is Dictionary else {}
	var hint: Variant = error.get("hint")
	push_warning("%s: %s" % [asset, error.get("message", "")])
	failed.emit(str(error.get("message", "")), str(place.get("file", asset)), int(place.get("line", 0)), str(hint) if hint else "")
