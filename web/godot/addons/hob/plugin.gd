@tool
extends EditorPlugin
## Adds the node HobModel, and the address of the daemon to the project settings.


func _enter_tree() -> void:
	if not ProjectSettings.has_setting(HobModel.URL_SETTING):
		ProjectSettings.set_setting(HobModel.URL_SETTING, HobModel.DEFAULT_URL)
	ProjectSettings.set_initial_value(HobModel.URL_SETTING, HobModel.DEFAULT_URL)
	ProjectSettings.add_property_info({"name": HobModel.URL_SETTING, "type": TYPE_STRING})
	add_custom_type("HobModel", "Node3D", preload("hob_model.gd"), null)


func _exit_tree() -> void:
	remove_custom_type("HobModel")
